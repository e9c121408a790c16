// SPDX-License-Identifier: GPL-2.0
/*
 * A module that is built outside the kernel's tree: it uses types of the kernel by pointer and by value, adds
 * types, a per-CPU variable and a kfunc of its own.
 */
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched.h>

enum kbc_state { KBC_IDLE, KBC_BUSY = 7 };

enum kbc_mask { KBC_LOW = 1, KBC_HIGH = 1ULL << 40 };

struct kbc_item {
	struct list_head link;
	struct task_struct *owner;
	spinlock_t lock;
	enum kbc_state state : 4;
	unsigned int uses : 12;
	enum kbc_mask mask;
	union {
		u64 whole;
		struct {
			u32 low, high;
		};
	};
	int (*visit)(struct kbc_item *item, const struct file *file);
	char name[TASK_COMM_LEN];
};

static DEFINE_PER_CPU(struct kbc_item, kbc_items);

#ifndef BTF_KFUNCS_START	/* before 6.9 */
#define BTF_KFUNCS_START(name) BTF_SET8_START(name)
#define BTF_KFUNCS_END(name) BTF_SET8_END(name)
#endif
#ifndef __bpf_kfunc_start_defs	/* before 6.7 */
#define __bpf_kfunc_start_defs()                                                                                       \
	__diag_push();                                                                                                 \
	__diag_ignore_all("-Wmissing-prototypes", "called by BPF programs")
#define __bpf_kfunc_end_defs() __diag_pop()
#endif
#ifndef __bpf_kfunc		/* before 6.3 */
#define __bpf_kfunc __used noinline
#endif

__bpf_kfunc_start_defs();

__bpf_kfunc u64 kbc_sum(struct task_struct *task, u32 low, u32 high)
{
	return task->pid + low + ((u64)high << 32);
}

__bpf_kfunc_end_defs();

BTF_KFUNCS_START(kbc_kfuncs)
BTF_ID_FLAGS(func, kbc_sum)
BTF_KFUNCS_END(kbc_kfuncs)

static const struct btf_kfunc_id_set kbc_set = {
	.owner = THIS_MODULE,
	.set = &kbc_kfuncs,
};

static int kbc_visit(struct kbc_item *item, const struct file *file)
{
	return file ? item->state : -ENOENT;
}

static int __init kbc_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct kbc_item *item = per_cpu_ptr(&kbc_items, cpu);

		INIT_LIST_HEAD(&item->link);
		spin_lock_init(&item->lock);
		item->owner = current;
		item->mask = KBC_HIGH;
		item->visit = kbc_visit;
	}
	return register_btf_kfunc_id_set(BPF_PROG_TYPE_TRACING, &kbc_set);
}

static void __exit kbc_exit(void)
{
}

module_init(kbc_init);
module_exit(kbc_exit);
MODULE_DESCRIPTION("A module outside of the kernel's tree, for kernel_build_check.py");
MODULE_LICENSE("GPL");
