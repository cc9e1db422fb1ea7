#include "nn/parameters.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autodiff/instantiate.h"
#include "autodiff/random.h"

namespace regard {

namespace {

// A number of elements that exceeds any memory. It is so small that the sum of
// two such numbers does not overflow.
constexpr int64_t kMaxElements = int64_t{1} << 56;

int64_t Sum(int64_t a, int64_t b) {
  return std::min(a + std::min(b, kMaxElements), kMaxElements);
}

// Returns an error message if `bytes` exceed physical memory, otherwise "".
std::string MemoryProblem(int64_t parameters, int64_t bytes) {
  const int64_t memory =
      int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  if (bytes <= memory) return "";
  constexpr double kGibibyte = 1 << 30;
  return absl::StrFormat(
      "%d parameters take %.1f GiB, but this machine has %.1f "
      "GiB of memory; use a smaller model",
      parameters, static_cast<double>(bytes) / kGibibyte,
      static_cast<double>(memory) / kGibibyte);
}

// Requests large pages for memory that will be fully written. Weights that do
// not fit into the caches are then read about 5 % faster. A no-op if the system
// has no large pages.
void AdviseLargePages(void* data, int64_t bytes) {
  constexpr int64_t kPage = int64_t{1} << 21;
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = (begin + kPage - 1) / kPage * kPage;
  const uintptr_t end = (begin + static_cast<uintptr_t>(bytes)) / kPage * kPage;
  if (end <= first) return;
  madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

}  // namespace

template <typename T>
ParameterScope<T> ParameterStore<T>::Root() {
  return ParameterScope<T>(*this, "");
}

template <typename T>
Parameter<T> ParameterStore<T>::Add(std::string name, const Shape& shape,
                                    Initializer initializer,
                                    const ParameterOptions& options) {
  REGARD_CHECK(!finalized_) << name << " is registered after Finalize()";
  REGARD_CHECK(!FindByName(name).has_value())
      << name << " is already registered";
  ParameterInfo info;
  info.name = std::move(name);
  info.shape = shape;
  info.options = options;
  info.initializer = std::move(initializer);
  parameters_.push_back(std::move(info));
  packed_.Add();
  return {static_cast<int32_t>(parameters_.size()) - 1, this};
}

template <typename T>
void ParameterStore<T>::AddAlias(std::string name, Parameter<T> target) {
  REGARD_CHECK(!finalized_) << name << " is registered after Finalize()";
  REGARD_CHECK(!FindByName(name).has_value())
      << name << " is already registered";
  CheckOwns(target);
  aliases_.push_back({std::move(name), target.index});
}

template <typename T>
void ParameterStore<T>::CheckOwns(Parameter<T> parameter) const {
  REGARD_CHECK(parameter.has_value())
      << "the Parameter is empty: check has_value() first";
  REGARD_CHECK(parameter.store == this &&
               parameter.index < static_cast<int>(parameters_.size()))
      << "parameter " << parameter.index << " belongs to another store: "
      << "take the handle from this store with Add() or "
      << "FindByName()";
}

template <typename T>
void ParameterStore<T>::FinalizeWithZeros() {
  REGARD_CHECK(!finalized_) << "Finalize() was called twice";
  constexpr int64_t kStep = Slab<T>::kAlignment / sizeof(T);
  int64_t end = 0;
  for (ParameterInfo& info : parameters_) {
    info.offset = end;
    end = Sum(end, (info.size() + kStep - 1) / kStep * kStep);
  }
  finalized_ = true;
  const int64_t bytes = end * int64_t{sizeof(T)};
  problem_ = MemoryProblem(num_elements(), bytes);
  if (!problem_.empty()) return;
  values_ = Slab<T>(end);
  AdviseLargePages(values_.data(), bytes);
}

template <typename T>
void ParameterStore<T>::Finalize(uint64_t seed) {
  FinalizeWithZeros();
  if (!problem_.empty()) return;
  for (const ParameterInfo& info : parameters_) {
    const RandomStream stream(seed, absl::StrCat("init/", info.name));
    T* const value = values_.data() + info.offset;
    for (int64_t i = 0; i < info.size(); ++i) {
      value[i] = static_cast<T>(info.initializer(stream, i));
    }
  }
}

template <typename T>
std::optional<Parameter<T>> ParameterStore<T>::FindByName(
    absl::string_view name) const {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].name == name) {
      return Parameter<T>{static_cast<int32_t>(i), this};
    }
  }
  for (const ParameterAlias& alias : aliases_) {
    if (alias.name == name) return Parameter<T>{alias.target, this};
  }
  return std::nullopt;
}

template <typename T>
int64_t ParameterStore<T>::num_elements() const {
  int64_t count = 0;
  for (const ParameterInfo& info : parameters_) count = Sum(count, info.size());
  return count;
}

template <typename T>
int64_t ParameterStore<T>::num_trainable_elements() const {
  int64_t count = 0;
  for (const ParameterInfo& info : parameters_) {
    if (info.options.trainable) count = Sum(count, info.size());
  }
  return count;
}

template <typename T>
std::string ParameterScope<T>::Join(absl::string_view name) const {
  REGARD_CHECK(!name.empty()) << "an empty name in scope " << prefix_;
  return prefix_.empty() ? std::string(name) : absl::StrCat(prefix_, ".", name);
}

template <typename T>
ParameterScope<T> ParameterScope<T>::Sub(absl::string_view name) const {
  return ParameterScope(*store_, Join(name));
}

template <typename T>
ParameterScope<T> ParameterScope<T>::Sub(absl::string_view name,
                                         int64_t index) const {
  return Sub(name).Sub(index);
}

template <typename T>
ParameterScope<T> ParameterScope<T>::Sub(int64_t index) const {
  return Sub(absl::StrCat(index));
}

template <typename T>
Parameter<T> ParameterScope<T>::Add(absl::string_view name, const Shape& shape,
                                    Initializer initializer,
                                    const ParameterOptions& options) const {
  return store_->Add(Join(name), shape, std::move(initializer), options);
}

template <typename T>
void ParameterScope<T>::Alias(absl::string_view name,
                              Parameter<T> target) const {
  store_->AddAlias(Join(name), target);
}

template <typename T>
GradientSlab<T>::GradientSlab(const ParameterStore<T>& store)
    : values_(store.slab_size()) {
  REGARD_CHECK(store.finalized()) << "gradients require a finalized store";
  auto marks = static_cast<int64_t>(store.parameters().size());
  for (const ParameterInfo& info : store.parameters()) {
    const bool sparse = info.options.sparse_gradient && info.options.trainable;
    first_row_.push_back(sparse ? marks : -1);
    if (sparse) marks += info.shape[0];
  }
  marks_.assign(static_cast<size_t>(marks), 0);
}

template <typename T>
void GradientSlab<T>::ClearTouchedRows(const ParameterStore<T>& store) {
  for (size_t i = 0; i < first_row_.size(); ++i) {
    uint8_t* const rows = touched_rows(static_cast<int32_t>(i));
    if (rows == nullptr) continue;
    const ParameterInfo& info = store.parameters()[i];
    for (int64_t row = 0; row < info.shape[0]; ++row) {
      if (rows[row] == 0) continue;
      const int64_t cols = info.shape[1];
      std::fill_n(values_.data() + info.offset + row * cols, cols, T(0));
      rows[row] = 0;
    }
  }
}

template <typename T>
void GradientSlab<T>::SetTouchedOrClear(const ParameterInfo& info,
                                        int32_t index, bool touched) {
  if (!touched && marks_[index] != 0 && first_row_[index] < 0) {
    std::fill_n(values_.data() + info.offset, info.size(), T(0));
  }
  marks_[index] = touched ? 1 : 0;
}

template <typename T>
void GradientSlab<T>::MarkTouched(absl::Span<const uint8_t> other) {
  REGARD_CHECK_EQ(other.size(), marks_.size());
  for (size_t i = 0; i < marks_.size(); ++i) marks_[i] |= other[i];
}

REGARD_INSTANTIATE_CLASS(ParameterStore);
REGARD_INSTANTIATE_CLASS(ParameterScope);
REGARD_INSTANTIATE_CLASS(GradientSlab);

}  // namespace regard
