// The main function of every test program, compiled once. Catch2 3 brings its own in a library.

#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
