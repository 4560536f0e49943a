/* The rules compile in this language too, without a warning. */
#include "tests/rules/compile.h"
