#include "autodiff/tape.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "absl/base/attributes.h"
#include "autodiff/random.h"

namespace regard {

void RefuseOperand(const char* operation, bool absent) {
  REGARD_CHECK(!absent)
      << operation << " of an empty Var: each operand that is not optional "
      << "requires a value: check has_value()";
  REGARD_CHECK(absent)
      << operation << " of values on different tapes, which would lose a "
      << "gradient: compute them on one tape, or copy a value to it with "
      << "Constant(x.shape(), x.span())";
  std::abort();
}

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
Var<T> Tape<T>::View(T* values, const Shape& shape) {
  Node<T>* const node = NewNode(values, nullptr, shape.size(), false);
  node->is_view = true;
  return Var<T>(node, CopyShape(shape));
}

template <typename T>
Var<T> Tape<T>::Leaf(T* value, T* grad, const Shape& shape, bool sparse,
                     PackedWeight<T>* packed) {
  if (grad != nullptr && shape.size() > 0) AddDisjointLeafGrad(grad, shape);
  return NewLeaf(value, grad, shape, sparse, packed);
}

template <typename T>
void Tape<T>::AddDisjointLeafGrad(const T* grad, const Shape& shape) {
  const T* const end = grad + shape.size();
  const T* highest = end;
  // The addresses of parameters usually ascend, so most leaves need no search.
  if (!leaf_grads_.empty() && grad < leaf_grads_.back().highest_end) {
    for (const LeafGrad& other : leaf_grads_) {
      REGARD_CHECK(end <= other.begin || other.end <= grad)
          << "a second leaf " << shape << " would overwrite the gradient of an "
          << "earlier one: make one leaf per parameter and step, and reuse it";
    }
    highest = std::max(end, leaf_grads_.back().highest_end);
  }
  leaf_grads_.push_back({grad, end, highest, nodes_});
}

template <typename T>
Var<T> Tape<T>::NewLeaf(T* value, T* grad, const Shape& shape, bool sparse,
                        PackedWeight<T>* packed) {
  void* const memory =
      leaf_arena_.Allocate(sizeof(LeafNode<T>), alignof(LeafNode<T>));
  auto* const leaf = new (memory)
      LeafNode<T>{{value, grad, this, shape.size(), TakeIndex(/*leaf=*/true),
                   /*needs_grad=*/grad != nullptr, /*touched=*/false,
                   /*is_leaf=*/true, /*is_view=*/false},
                  shape.rows(),
                  shape.cols(),
                  /*touched_rows=*/nullptr,
                  /*parts=*/nullptr,
                  packed};
  if (sparse && grad != nullptr) {
    REGARD_CHECK_EQ(shape.rank(), 2) << "a sparse gradient " << shape;
    leaf->touched_rows = leaf_arena_.New<uint8_t>(leaf->rows);
    std::fill_n(leaf->touched_rows, leaf->rows, uint8_t{0});
  }
  const Shape* const kept =
      new (leaf_arena_.Allocate(sizeof(Shape), alignof(Shape))) Shape(shape);
  return Var<T>(leaf, kept);
}

template <typename T>
absl::Span<const uint8_t> Tape<T>::touched_rows(Var<T> leaf) const {
  REGARD_CHECK(leaf.node()->is_leaf) << "touched rows of " << leaf.shape();
  const auto* const node = static_cast<const LeafNode<T>*>(leaf.node());
  if (node->touched_rows == nullptr) return {};
  return {node->touched_rows, static_cast<size_t>(node->rows)};
}

template <typename T>
Var<T> Tape<T>::Input(const Shape& shape, absl::Span<const T> values) {
  REGARD_CHECK_EQ(static_cast<int64_t>(values.size()), shape.size())
      << "values for an input " << shape;
  T* const value = leaf_arena_.New<T>(shape.size());
  std::copy(values.begin(), values.end(), value);
  return NewLeaf(value, leaf_arena_.New<T>(shape.size()), shape,
                 /*sparse=*/false, /*packed=*/nullptr);
}

template <typename T>
void Tape<T>::Backward(Var<T> scalar, T seed) {
  CheckOperand("Backward()", *this, scalar);
  REGARD_CHECK_EQ(scalar.size(), 1)
      << "losses are scalars: Backward() from " << scalar.shape();
  auto d = scalar.grad_ref();
  if (!d) return;
  d.AddEach([=](int64_t) { return seed; });
  BackwardTo({});
}

// Inline, because a call would take a tenth of the time of a small record.
template <typename T>
ABSL_ATTRIBUTE_ALWAYS_INLINE void Tape<T>::RunEntry(
    Entry* entry, const Arena::Mark& scratch) {
  scope_ = entry->scope;
  const bool ran = std::exchange(entry->run, nullptr)(entry);
  scratch_.Rewind(scratch);
  if (ran && observer_ != nullptr) {
    observer_->OnBackwardDone(entry->name, entry->scope);
  }
}

template <typename T>
void Tape<T>::BackwardTo(const Mark& mark) {
  RunRecords(mark, nullptr);
}

template <typename T>
void Tape<T>::BackwardToAndRelease(const Mark& mark, Var<T> output) {
  REGARD_CHECK(backward_depth_ > 0 || scope_ == nullptr)
      << "values are released while a scope is open";
  const Node<T>* const node = output.node();
  // The value lies before its node. An empty value may have any address.
  const void* const end =
      node->size > 0 ? static_cast<const void*>(node->value) : node;
  const auto depth = static_cast<size_t>(backward_depth_);
  ReclaimedMemory* memory = nullptr;
  if (observer_ == nullptr && !node->is_leaf && !node->is_view &&
      depth < std::size(reclaimed_) && reclaimed_[depth].Begin(arena_, end)) {
    memory = &reclaimed_[depth];
  }
  RunRecords(mark, memory);
  last_ = const_cast<Entry*>(mark.last);
  records_ = mark.records;
#ifndef NDEBUG
  for (uint32_t i = mark.nodes; i < node->index; ++i) {
    if (serials_[i] % 2 == 0) serials_[i] = 0;
  }
#endif
}

template <typename T>
void Tape<T>::RunRecords(const Mark& mark, ReclaimedMemory* memory) {
  const ScopeName* const outer_scope = scope_;
  const uint32_t outer_floor = grad_floor_;
  ReclaimedMemory* const outer_memory = std::exchange(reclaiming_, memory);
  const Arena::Mark scratch = scratch_.Save();
  grad_floor_ = mark.nodes;
  if (observer_ != nullptr) observer_->OnBeginBackwardPass(scope_);
  ++backward_depth_;
  // A closure that uses activation checkpointing appends records and rewinds
  // them.
  for (Entry* entry = last_; entry != mark.last;) {
    REGARD_CHECK(entry->run != nullptr)
        << entry->name << " was differentiated before; a second pass would "
        << "count its gradient twice. Add scalars and call Backward() once";
    Entry* const previous = entry->previous;
    RunEntry(entry, scratch);
    if (memory != nullptr) memory->FreeFrom(entry);
    entry = previous;
  }
  grad_floor_ = outer_floor;
  if (--backward_depth_ == 0) {
    while (deferred_ != nullptr) {
      Entry* const entry = deferred_;
      deferred_ = entry->previous;
      RunEntry(entry, scratch);
    }
  }
  reclaiming_ = outer_memory;
  scope_ = outer_scope;
}

template <typename T>
T* Tape<T>::ReclaimGrad(const Node<T>& node) {
  const size_t bytes = sizeof(T) * static_cast<size_t>(node.size);
  if (bytes < ReclaimedMemory::kMinBytes) return nullptr;
  return static_cast<T*>(reclaiming_->Allocate(bytes, &node));
}

template <typename T>
void Tape<T>::RefuseGrad() {
  REGARD_CHECK(false) << "a recomputed function differentiates a value that "
                         "is neither among its inputs nor a leaf";
  std::abort();
}

template <typename T>
void Tape<T>::ClaimMask(const char* site, uint64_t key) {
  if (scope_ == nullptr) return;
  for (const ClaimedMask& other : claimed_masks_) {
    REGARD_CHECK(other.scope != scope_ || other.key != key)
        << "two Dropout() at \"" << site << "\" in one scope \""
        << scope_->ToString() << "\" would share a mask: give each its "
        << "own site";
  }
  claimed_masks_.push_back({key, scope_, nodes_});
}

template <typename T>
void Tape<T>::Rewind(const Mark& mark) {
  const auto discard = [&](auto& notes) {
    while (!notes.empty() && notes.back().node >= mark.nodes) notes.pop_back();
  };
  discard(leaf_grads_);
  discard(claimed_masks_);
  arena_.Rewind(mark.arena);
  last_ = const_cast<Entry*>(mark.last);
  records_ = mark.records;
  nodes_ = mark.nodes;
}

template <typename T>
void Tape<T>::Reset() {
  arena_.Reset();
  leaf_arena_.Reset();
  scratch_.Reset();
  leaf_grads_.clear();
  claimed_masks_.clear();
  std::fill(std::begin(tables_), std::end(tables_), KeptTable());
  last_ = nullptr;
  deferred_ = nullptr;
  records_ = 0;
  nodes_ = 0;
  scope_ = nullptr;
  if (observer_ != nullptr) observer_->OnReset();
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

REGARD_INSTANTIATE_CLASS(Tape);
REGARD_INSTANTIATE_CLASS(NameScope);

}  // namespace regard
