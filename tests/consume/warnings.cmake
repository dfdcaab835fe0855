# The flags of a strict user. Nothing of brook may warn under them.
set(consumer_warnings
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wmissing-field-initializers
  -Werror)
