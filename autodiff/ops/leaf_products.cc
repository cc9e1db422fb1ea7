#include "autodiff/ops/leaf_products.h"

#include <algorithm>
#include <new>

#include "autodiff/arena.h"
#include "autodiff/instantiate.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

// The state of products with one part of a leaf in one precision, stored in the
// leaf's arena. Leaves without a gradient have no state. A part is identified
// by its place, so all reshaped views of the leaf share the state.
template <typename T>
struct LeafPart {
  PartPlace place;
  ProductPrecision precision;
  LeafPart* next;

  PackedPart<T>* packed;  // null for rounded products, or without copies
  int64_t products = 0;   // products of few rows before the copy was made

  // The queue of gradient products.
  T* g = nullptr;  // [kGemmDepth, rows]
  T* x = nullptr;  // [kGemmDepth, cols]
  int64_t queued = 0;
  bool deferred = false;  // whether a flush is deferred in this backward pass
};

namespace {

// A product of more rows does not make a copy, because packing takes only a
// small fraction of its time.
constexpr int64_t kMaxRowsForCopy = 512;

// The number, counted from 1, of the product with a weight that makes the copy.
// Earlier products read the weight itself.
//
// kSecond: for a weight with a gradient, counted in each step. Such a weight
// changes in each step, so a copy pays off if the step uses the weight again.
//
// kOfInference: for any other weight, counted since the weights last changed. A
// few products, such as the products for the last batch of an evaluation, then
// make no copy.
constexpr int64_t kSecond = 2;
constexpr int64_t kOfInference = 8;

// A part with at least this many elements exceeds the private cache of a core.
// Inference with very few rows then waits for memory. A copy takes memory, and
// packing takes as much time as dozens of products save. The copy is therefore
// not made before product kOfStreams.
constexpr int64_t kMinToStream = int64_t{1} << 18;
constexpr int64_t kOfStreams = 64;

#ifndef NDEBUG
constexpr char kStaleCopy[] =
    "a weight was changed through a span from before the last product";
#endif

template <typename T>
PackedPart<T>* PanelsOf(LeafNode<T>* leaf, const PartPlace& place) {
  return leaf->packed->FindOrAdd(place, PackedForm::kTranspose);
}

template <typename T>
LeafPart<T>* FindOrAdd(LeafNode<T>* leaf, const WeightPart<T>& part,
                       ProductPrecision precision) {
  const PartPlace place = part.place();
  for (LeafPart<T>* known = leaf->parts; known != nullptr;
       known = known->next) {
    if (known->place == place && known->precision == precision) return known;
  }
  void* const memory = leaf->tape->leaf_arena().Allocate(sizeof(LeafPart<T>));
  PackedPart<T>* const packed = leaf->packed == nullptr || Rounds<T>(precision)
                                    ? nullptr
                                    : PanelsOf(leaf, place);
  leaf->parts = new (memory) LeafPart<T>{place, precision, leaf->parts, packed};
  return leaf->parts;
}

// Returns the transpose of a part in full precision, with the packed copy if
// products are to read it.
template <typename T>
ConstMatrix<T> TransposeWithCopy(LeafNode<T>* leaf, const WeightPart<T>& part,
                                 int64_t rows_of_x, int64_t products) {
  LeafPart<T>* const known =
      leaf->needs_grad ? FindOrAdd(leaf, part, ProductPrecision::kFull)
                       : nullptr;
  PackedPart<T>* const packed =
      known != nullptr ? known->packed : PanelsOf(leaf, part.place());
  const ConstMatrix<T> transposed = part.matrix().Transposed();
  const ConstMatrix<T> current = packed->WithCurrent(transposed);
  if (current.panels != nullptr || rows_of_x > kMaxRowsForCopy) return current;
  const bool streams =
      rows_of_x <= kGemmFewRows && part.rows * part.cols >= kMinToStream;
  const bool makes = known != nullptr
                         ? (known->products += products) >= kSecond
                         : packed->CountUnpackedProducts(products) >=
                               (streams ? kOfStreams : kOfInference);
  if (!makes) return transposed;
  // A single product does not wait for a copy, because reading the part itself
  // takes as long.
  return packed->PackIfOutdated(transposed, /*waits=*/products > 1);
}

// Returns `x`, a part of a weight or its transpose, with its rounded copy if
// there is one.
template <typename T>
ConstMatrix<T> Rounded(const WeightPart<T>& part, const ConstMatrix<T>& x,
                       int64_t products) {
  Node<T>* const node = part.weight.node();
  if (node->is_leaf && static_cast<LeafNode<T>*>(node)->packed != nullptr) {
    PackedWeight<T>* const packed = static_cast<LeafNode<T>*>(node)->packed;
    const ConstMatrix<T> rounded =
        packed
            ->FindOrAdd(part.place(), x.transposed
                                          ? PackedForm::kRoundedTranspose
                                          : PackedForm::kRounded)
            ->PackIfOutdated(x);
#ifndef NDEBUG
    REGARD_CHECK(PairsMatch(rounded)) << kStaleCopy;
#endif
    return rounded;
  }
  if (products < 2) return x;
  return RoundedPairs(x, node->tape->scratch().template New<uint32_t>(
                             RoundedPairsSize(x.rows, x.cols)));
}

// Adds g^T x to a part of the gradient of `node`. The part begins at `offset`
// and has x.cols columns.
template <typename T>
void AddProduct(Node<T>* node, int64_t offset, int64_t stride,
                const ConstMatrix<T>& g, const ConstMatrix<T>& x,
                ProductPrecision precision) {
  GradRef<T> d(node);
  GemmMode mode = GemmMode::kAdd;
  if (g.cols * x.cols != node->size) {
    d.BeginAdding();
  } else if (!d.BeginContribution()) {
    mode = GemmMode::kAssign;
  }
  Gemm<T>(g.Transposed(), x, {d.data() + offset, g.cols, x.cols, stride}, mode,
          T(1), precision);
}

template <typename T>
void Flush(LeafNode<T>* leaf, LeafPart<T>* part) {
  AddProduct<T>(leaf, part->place.offset, part->place.stride,
                {part->g, part->queued, part->place.rows},
                {part->x, part->queued, part->place.cols}, part->precision);
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
                                     int64_t rows_of_x, int64_t products,
                                     ProductPrecision precision) {
  const ConstMatrix<T> transposed = part.matrix().Transposed();
  if (Rounds<T>(precision)) return Rounded(part, transposed, products);
  Node<T>* const node = part.weight.node();
  auto* const leaf = node->is_leaf ? static_cast<LeafNode<T>*>(node) : nullptr;
  if (leaf != nullptr && leaf->packed != nullptr) {
    const ConstMatrix<T> with_copy =
        TransposeWithCopy(leaf, part, rows_of_x, products);
#ifndef NDEBUG
    REGARD_CHECK(with_copy.panels == nullptr || PanelsMatch(with_copy))
        << kStaleCopy;
#endif
    return with_copy;
  }
  if (products < 2) return transposed;
  const int64_t size = PackedSize<T>(part.cols, part.rows);
  return WithPackedPanels(transposed,
                          node->tape->scratch().template New<T>(size));
}

template <typename T>
ConstMatrix<T> PartForProducts(const WeightPart<T>& part, int64_t products,
                               ProductPrecision precision) {
  if (!Rounds<T>(precision)) return part.matrix();
  return Rounded(part, part.matrix(), products);
}

template <typename T>
void AddWeightGradient(const WeightPart<T>& part, const ConstMatrix<T>& g,
                       const ConstMatrix<T>& x, ProductPrecision precision) {
  Node<T>* const node = part.weight.node();
  if (!node->needs_grad) return;
  if (node->is_leaf && g.rows < kGemmDepth) {
    auto* const leaf = static_cast<LeafNode<T>*>(node);
    Enqueue(leaf, FindOrAdd(leaf, part, precision), g, x);
  } else {
    const PartPlace place = part.place();
    AddProduct(node, place.offset, place.stride, g, x, precision);
  }
}

REGARD_INSTANTIATE_FUNCTION(TransposedForProducts);
REGARD_INSTANTIATE_FUNCTION(PartForProducts);
REGARD_INSTANTIATE_FUNCTION(AddWeightGradient);

}  // namespace regard
