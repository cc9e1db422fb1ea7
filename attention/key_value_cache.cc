#include "attention/key_value_cache.h"

#include <algorithm>
#include <utility>

#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Copies the first `count` positions of each of `blocks` blocks, which start
// every `from_stride` and `to_stride` elements.
template <typename T>
void CopyBlocks(const T* from, int64_t from_stride, T* to, int64_t to_stride,
                int64_t blocks, int64_t count) {
  for (int64_t i = 0; i < blocks; ++i) {
    std::copy_n(from + i * from_stride, count, to + i * to_stride);
  }
}

}  // namespace

template <typename T>
void KeyValueCache<T>::Grow(int64_t capacity) {
  for (Rows* rows : {&keys_, &values_}) {
    const int64_t blocks = batch_ * rows->heads;
    const int64_t width = rows->width;
    std::vector<T> grown(blocks * capacity * width);
    CopyBlocks(rows->values.data(), capacity_ * width, grown.data(),
               capacity * width, blocks, length_ * width);
    rows->values = std::move(grown);
  }
  capacity_ = capacity;
}

template <typename T>
void KeyValueCache<T>::Append(const PreparedSource<T>& part) {
  const Shape& keys = part.keys.shape();
  const Shape& values = part.values.shape();
  REGARD_CHECK(keys.rank() == 4 && values.rank() == 4 && keys[0] == values[0] &&
               keys[2] == values[2])
      << "keys " << keys << ", values " << values;
  if (length_ == 0) {
    *this = KeyValueCache();
    batch_ = keys[0];
    keys_ = {keys[1], keys[3], {}};
    values_ = {values[1], values[3], {}};
  }
  REGARD_CHECK(keys[0] == batch_ && keys[1] == keys_.heads &&
               keys[3] == keys_.width && values[1] == values_.heads &&
               values[3] == values_.width)
      << "keys " << keys << ", values " << values << " in a cache of " << batch_
      << " examples, " << keys_.heads << " heads, widths " << keys_.width
      << " and " << values_.width;
  const int64_t count = keys[2];
  if (length_ + count > capacity_) {
    Grow(std::max(length_ + count, 2 * capacity_));
  }
  const auto append = [&](Var<T> from, Rows& to) {
    CopyBlocks(from.data(), count * to.width,
               to.values.data() + length_ * to.width, capacity_ * to.width,
               batch_ * to.heads, count * to.width);
  };
  append(part.keys, keys_);
  append(part.values, values_);
  length_ += count;
}

template <typename T>
PreparedSource<T> KeyValueCache<T>::View(Tape<T>& tape) const {
  REGARD_CHECK(length_ > 0) << "an empty cache";
  const auto view = [&](const Rows& rows) {
    Var<T> out = tape.Constant({batch_, rows.heads, length_, rows.width});
    CopyBlocks(rows.values.data(), capacity_ * rows.width, out.data(),
               length_ * rows.width, batch_ * rows.heads, length_ * rows.width);
    return out;
  };
  return {view(keys_), view(values_)};
}

template <typename T>
void KeyValueCache<T>::Gather(absl::Span<const int64_t> rows) {
  for (Rows* part : {&keys_, &values_}) {
    const int64_t example = part->heads * capacity_ * part->width;
    std::vector<T> gathered(rows.size() * example);
    for (size_t i = 0; i < rows.size(); ++i) {
      REGARD_CHECK(rows[i] >= 0 && rows[i] < batch_)
          << "example " << rows[i] << " of " << batch_;
      std::copy_n(part->values.data() + rows[i] * example, example,
                  gathered.data() + i * example);
    }
    part->values = std::move(gathered);
  }
  batch_ = static_cast<int64_t>(rows.size());
}

template class KeyValueCache<float>;
template class KeyValueCache<double>;

}  // namespace regard
