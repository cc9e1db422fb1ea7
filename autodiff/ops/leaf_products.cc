#include "autodiff/ops/leaf_products.h"

#include <algorithm>
#include <new>

#include "autodiff/arena.h"
#include "autodiff/instantiate.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

// The state of a part of a leaf with a gradient, in the leaf's arena. A part is
// identified by its place, so all reshaped views of the leaf share the state.
template <typename T>
struct LeafPart {
  PartPlace place;
  LeafPart* next;

  PackedPart<T>* packed;  // null if the leaf's owner keeps no copies
  int64_t products = 0;   // products of few rows before the copy was made

  // The queue of gradient products.
  T* g = nullptr;  // [kGemmDepth, rows]
  T* x = nullptr;  // [kGemmDepth, cols]
  int64_t queued = 0;
  bool deferred = false;  // whether a flush is deferred in this backward pass
};

namespace {

// Products of more rows do not make a copy, because packing takes a small
// fraction of their time.
constexpr int64_t kMaxRowsForCopy = 512;

// The product with this number makes the copy. A weight with a gradient changes
// in each step, so a copy pays off only if the step uses the weight again. For
// a weight without a gradient, the products of all steps count. The number is
// higher for such a weight. A few products, such as those for the last batch of
// an evaluation, then make no copy.
constexpr int64_t kSecond = 2;
constexpr int64_t kOfInference = 8;

// A part with at least this many elements exceeds the private cache of a core.
// Inference with very few rows then waits for memory. A copy takes memory, and
// packing takes as much time as dozens of products save. The copy is therefore
// made after kOfStreams products.
constexpr int64_t kMinToStream = int64_t{1} << 18;
constexpr int64_t kOfStreams = 64;

template <typename T>
PackedPart<T>* PackedPartOf(LeafNode<T>* leaf, const PartPlace& place) {
  return leaf->packed == nullptr ? nullptr : leaf->packed->FindOrAdd(place);
}

template <typename T>
LeafPart<T>* FindOrAdd(LeafNode<T>* leaf, const WeightPart<T>& part) {
  const PartPlace place = part.place();
  for (LeafPart<T>* known = leaf->parts; known != nullptr;
       known = known->next) {
    if (known->place == place) return known;
  }
  void* const memory = leaf->tape->leaf_arena().Allocate(sizeof(LeafPart<T>));
  leaf->parts =
      new (memory) LeafPart<T>{place, leaf->parts, PackedPartOf(leaf, place)};
  return leaf->parts;
}

// Returns the copy that a product of few rows with a leaf reads, or null.
template <typename T>
const T* PanelsOf(LeafNode<T>* leaf, const WeightPart<T>& part,
                  int64_t rows_of_x, int64_t products) {
  LeafPart<T>* const known = leaf->needs_grad ? FindOrAdd(leaf, part) : nullptr;
  PackedPart<T>* const packed =
      known != nullptr ? known->packed : leaf->packed->FindOrAdd(part.place());
  const T* const panels = packed->Current();
  if (panels != nullptr || rows_of_x > kMaxRowsForCopy) return panels;
  const bool streams =
      rows_of_x <= kGemmFewRows && part.rows * part.cols >= kMinToStream;
  const bool makes = known != nullptr
                         ? (known->products += products) >= kSecond
                         : packed->CountProducts(products) >=
                               (streams ? kOfStreams : kOfInference);
  if (!makes) return nullptr;
  // For a single product, reading the part itself takes as long as waiting for
  // the copy.
  return packed->Pack(part.matrix().Transposed(), /*waits=*/products > 1);
}

// Adds g^T x to a part of the gradient of `node`. The part begins at `offset`
// and has x.cols columns.
template <typename T>
void AddProduct(Node<T>* node, int64_t offset, int64_t stride,
                const ConstMatrix<T>& g, const ConstMatrix<T>& x) {
  GradRef<T> d(node);
  GemmMode mode = GemmMode::kAdd;
  if (g.cols * x.cols != node->size) {
    d.BeginPartial();
  } else if (!d.BeginContribution()) {
    mode = GemmMode::kAssign;
  }
  Gemm<T>(g.Transposed(), x, {d.data() + offset, g.cols, x.cols, stride}, mode);
}

template <typename T>
void Flush(LeafNode<T>* leaf, LeafPart<T>* part) {
  AddProduct<T>(leaf, part->place.offset, part->place.stride,
                {part->g, part->queued, part->place.rows},
                {part->x, part->queued, part->place.cols});
  part->queued = 0;
}

template <typename T>
void Enqueue(LeafNode<T>* leaf, LeafPart<T>* part, const ConstMatrix<T>& g,
             const ConstMatrix<T>& x) {
  Tape<T>& tape = *leaf->tape;
  const auto [offset, rows, cols, stride] = part->place;
  if (part->g == nullptr) {
    part->g = tape.leaf_arena().template New<T>(kGemmDepth * rows);
    part->x = tape.leaf_arena().template New<T>(kGemmDepth * cols);
  }
  if (!part->deferred) {
    part->deferred = true;
    tape.Defer("WeightGradient", [=] {
      part->deferred = false;
      // If no row is queued, the gradient is zero, but must be marked as
      // written.
      if (part->queued > 0 || !leaf->touched) Flush(leaf, part);
    });
  }
  for (int64_t i = 0; i < g.rows; ++i) {
    std::copy_n(g.data + i * g.stride, rows, part->g + part->queued * rows);
    std::copy_n(x.data + i * x.stride, cols, part->x + part->queued * cols);
    if (++part->queued == kGemmDepth) Flush(leaf, part);
  }
}

}  // namespace

template <typename T>
ConstMatrix<T> TransposedForProducts(const WeightPart<T>& part,
                                     int64_t rows_of_x, int64_t products) {
  ConstMatrix<T> transposed = part.matrix().Transposed();
  Node<T>* const node = part.weight.node();
  auto* const leaf = node->is_leaf ? static_cast<LeafNode<T>*>(node) : nullptr;
  if (leaf != nullptr && leaf->packed != nullptr) {
    transposed.panels = PanelsOf(leaf, part, rows_of_x, products);
#ifndef NDEBUG
    REGARD_CHECK(transposed.panels == nullptr || PanelsMatch(transposed))
        << "a weight was changed through a span from before the last product";
#endif
    return transposed;
  }
  if (products < 2) return transposed;
  const int64_t size = PackedSize<T>(part.cols, part.rows);
  return Packed(transposed, node->tape->scratch().template New<T>(size));
}

template <typename T>
void AddWeightGradient(const WeightPart<T>& part, const ConstMatrix<T>& g,
                       const ConstMatrix<T>& x) {
  Node<T>* const node = part.weight.node();
  if (!node->needs_grad) return;
  if (node->is_leaf && g.rows < kGemmDepth) {
    auto* const leaf = static_cast<LeafNode<T>*>(node);
    Enqueue(leaf, FindOrAdd(leaf, part), g, x);
  } else {
    const PartPlace place = part.place();
    AddProduct(node, place.offset, place.stride, g, x);
  }
}

REGARD_INSTANTIATE_FUNCTION(TransposedForProducts);
REGARD_INSTANTIATE_FUNCTION(AddWeightGradient);

}  // namespace regard
