/* The rules compile in this language too, without a warning. */
#include "rules_compile.h"
