// SPDX-License-Identifier: GPL-2.0
// C++ that BTF cannot express: references, pointers to members, classes, templates, nullptr.
#include "shapes.h"

namespace kbc {

using nothing = decltype(nullptr);

template <typename Element> class List {
public:
	List(const Element *elements, int count) : elements_(elements), count_(count) {}

	template <typename Visit> void each(Visit &&visit) const
	{
		for (int i = 0; i < count_; i++)
			visit(elements_[i]);
	}

private:
	const Element *elements_;
	int count_;
};

class Sum {
public:
	Sum(long &into, long (Sum::*measure)(const kbc_box &) const) : into_(into), measure_(measure) {}

	long volume(const kbc_box &box) const;
	long turned(const kbc_box &box) const;
	void operator()(const kbc_box &box) { into_ += (this->*measure_)(box); }

private:
	long &into_;
	long (Sum::*measure_)(const kbc_box &) const;
	long kbc_box::*unused_ [[maybe_unused]] = nullptr;
	nothing nothing_ [[maybe_unused]] = nullptr;
};

__attribute__((noinline)) long Sum::volume(const kbc_box &box) const
{
	long product = 1;

	for (int axis = 0; axis < 3; axis++)
		product *= box.high[axis] - box.low[axis];
	return product;
}

__attribute__((noinline)) long Sum::turned(const kbc_box &box) const
{
	return -volume(box);
}

} // namespace kbc

extern "C" long kbc_volume(const kbc_box *boxes, int count)
{
	long sum = 0;

	kbc::List<kbc_box>(boxes, count).each(kbc::Sum(sum, &kbc::Sum::volume));
	return sum;
}

extern "C" long kbc_turned(const kbc_box *boxes, int count)
{
	long sum = 0;

	kbc::List<kbc_box>(boxes, count).each(kbc::Sum(sum, &kbc::Sum::turned));
	return sum;
}
