#include "autodiff/tape.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autodiff/random.h"

namespace regard {

template <typename T>
Var<T> Tape<T>::Constant(const Shape& shape, absl::Span<const T> values) {
  Var<T> out = Constant(shape);
  REGARD_CHECK_EQ(static_cast<int64_t>(values.size()), shape.size())
      << "values for a constant " << shape;
  std::copy(values.begin(), values.end(), out.data());
  return out;
}

template <typename T>
Var<T> Tape<T>::Full(const Shape& shape, T value) {
  Var<T> out = Constant(shape);
  std::fill_n(out.data(), out.size(), value);
  return out;
}

template <typename T>
Var<T> Tape<T>::Input(const Shape& shape, absl::Span<const T> values) {
  Var<T> out = Constant(shape, values);
  out.node()->needs_grad = true;
  return out;
}

template <typename T>
Var<T> Tape<T>::Table(T* value, T* grad, const Shape& shape,
                      uint8_t* touched_rows) {
  REGARD_CHECK_EQ(shape.rank(), 2) << "a table " << shape;
  void* const memory =
      arena_.Allocate(sizeof(TableNode<T>), alignof(TableNode<T>));
  auto* const node = new (memory)
      TableNode<T>{{value, grad, this, shape.size(), NextIndex(),
                    /*needs_grad=*/true, false, false, /*is_table=*/true},
                   touched_rows,
                   shape[0]};
  return Var<T>(node, KeepShape(shape));
}

template <typename T>
void Tape<T>::Backward(Var<T> scalar, T seed) {
  REGARD_CHECK_EQ(scalar.size(), 1) << "Backward() from " << scalar.shape();
  if (auto d = scalar.grad_ref()) d.AddEach([=](int64_t) { return seed; });
  BackwardTo({});
}

template <typename T>
void Tape<T>::BackwardTo(const Mark& mark) {
  const ScopeName* const outer_scope = scope_;
  const uint32_t outer_floor = grad_floor_;
  grad_floor_ = mark.nodes;
  CheckContributions("the start of Backward()");
  // A closure that recomputes a Checkpoint appends records and rewinds them.
  for (Entry* entry = last_; entry != mark.last; entry = entry->previous) {
    REGARD_CHECK(entry->run != nullptr)
        << entry->name << " was differentiated before; a second pass would "
        << "count its gradient twice. Add scalars and call Backward() once";
    scope_ = entry->scope;
    bool ran;
    {
      ScratchScope<T> scratch(*this);
      ran = std::exchange(entry->run, nullptr)(entry);
    }
    if (!ran) continue;
    if (observer_ != nullptr) {
      observer_->OnRecord(entry->name, entry->scope, false);
    }
    CheckContributions(entry->name);
  }
  grad_floor_ = outer_floor;
  scope_ = outer_scope;
}

template <typename T>
void Tape<T>::RefuseGrad() {
  REGARD_CHECK(false) << "a checkpointed function differentiates a value that "
                         "is not among its inputs";
  std::abort();
}

template <typename T>
void Tape<T>::CheckContributions(const char* name) {
  for (const Node<T>* node : contributions_) {
    CheckFinite(*node, /*gradient=*/true, name);
  }
  contributions_.clear();
}

template <typename T>
void Tape<T>::Rewind(const Mark& mark) {
  arena_.Rewind(mark.arena);
  last_ = const_cast<Entry*>(mark.last);
  records_ = mark.records;
  nodes_ = mark.nodes;
}

template <typename T>
void Tape<T>::Reset() {
  arena_.Reset();
  scratch_.Reset();
  last_ = nullptr;
  records_ = 0;
  nodes_ = 0;
  contributions_.clear();
  scope_ = nullptr;
  if (observer_ != nullptr) observer_->OnReset();
}

template <typename T>
void Tape<T>::CheckFinite(const Node<T>& node, bool gradient,
                          const char* name) {
  if (!fault_.empty()) return;
  const T* const values = gradient ? node.grad : node.value;
  int64_t nans = 0;
  int64_t infinities = 0;
  for (int64_t i = 0; i < node.size; ++i) {
    nans += std::isnan(values[i]);
    infinities += std::isinf(values[i]);
  }
  if (!gradient && node.infinity_is_legal) infinities = 0;
  if (nans + infinities == 0) return;
  fault_ = absl::StrCat(nans > 0 ? "NaN" : "Inf", " in ",
                        gradient ? "a gradient made by " : "the value of ",
                        name, " (", nans, " NaN and ", infinities,
                        " Inf among ", node.size, " elements)");
  if (scope_ != nullptr) absl::StrAppend(&fault_, " at ", scope_->ToString());
}

template <typename T>
NameScope<T>::NameScope(Tape<T>& tape, const char* name, int64_t index)
    : tape_(tape), outer_(tape.scope()) {
  auto* scope =
      static_cast<ScopeName*>(tape.arena().Allocate(sizeof(ScopeName)));
  const uint64_t outer_hash = outer_ == nullptr ? kHashSeed : outer_->hash;
  *scope = {outer_, name, index,
            Hash(static_cast<uint64_t>(index), Hash(name, outer_hash))};
  tape_.set_scope(scope);
}

template class Tape<float>;
template class Tape<double>;
template class NameScope<float>;
template class NameScope<double>;

}  // namespace regard
