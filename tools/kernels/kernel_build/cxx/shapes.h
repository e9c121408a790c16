/* SPDX-License-Identifier: GPL-2.0 */
/* What the two languages of this module share. */
struct kbc_box {
	long low[3];
	long high[3];
};

#ifdef __cplusplus
extern "C" {
#endif
long kbc_volume(const struct kbc_box *boxes, int count);
long kbc_turned(const struct kbc_box *boxes, int count);
#ifdef __cplusplus
}
#endif
