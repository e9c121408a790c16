// SPDX-License-Identifier: GPL-2.0
/* The part of the module that the kernel sees. It gets sums from the C++ part, and loads only if they are right. */
#include <linux/module.h>

#include "shapes.h"

static const struct kbc_box boxes[] = {
	{ { 0, 0, 0 }, { 1, 2, 3 } },
	{ { -1, -1, -1 }, { 1, 1, 1 } },
};

static int __init kbc_cxx_init(void)
{
	int count = ARRAY_SIZE(boxes);

	return kbc_volume(boxes, count) == 14 && kbc_turned(boxes, count) == -14 ? 0 : -EINVAL;
}

static void __exit kbc_cxx_exit(void)
{
}

module_init(kbc_cxx_init);
module_exit(kbc_cxx_exit);
MODULE_DESCRIPTION("A module with a part in C++, for merged_build_check.py");
MODULE_LICENSE("GPL");
