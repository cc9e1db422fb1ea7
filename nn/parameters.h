// The parameters of a model: named, in order, in one slab.
//
//   ParameterStore<float> store;
//   ParameterScope<float> encoder = store.Root().Sub("encoder");
//   Parameter<float> weight = encoder.Sub("gru", 0).Add(
//       "weight_ih", {3 * width, inputs}, RecurrentDefault(width));
//   store.Finalize(seed);  // "encoder.gru.0.weight_ih" now has values
//
// Names are the checkpoint format: stable, dotted, and shaped as PyTorch's
// (Linear [out, in]; gates stacked r, z, n and i, f, g, o).
#ifndef NN_PARAMETERS_H_
#define NN_PARAMETERS_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "autodiff/packed_weights.h"
#include "autodiff/shape.h"
#include "nn/initializers.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

// One flat, zeroed, 64-byte aligned block of numbers: all parameters' values,
// gradients, or one of the optimiser's moments.
template <typename T>
class Slab {
 public:
  static constexpr int64_t kAlignment = 64;  // bytes

  Slab() = default;
  explicit Slab(int64_t size) : size_(size) {
    const int64_t bytes = size * static_cast<int64_t>(sizeof(T));
    // Zeroed by the system: pages that nobody writes to take no memory.
    memory_.reset(std::calloc(static_cast<size_t>(bytes + kAlignment), 1));
    if (memory_ == nullptr) throw std::bad_alloc();  // as `new` does
    void* place = memory_.get();
    size_t space = static_cast<size_t>(bytes + kAlignment);
    data_ = static_cast<T*>(
        std::align(kAlignment, static_cast<size_t>(bytes), place, space));
  }

  int64_t size() const { return size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  absl::Span<T> span() {
    return absl::MakeSpan(data(), static_cast<size_t>(size_));
  }
  absl::Span<const T> span() const {
    return absl::MakeConstSpan(data(), static_cast<size_t>(size_));
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  std::unique_ptr<void, Free> memory_;
  T* data_ = nullptr;
  int64_t size_ = 0;
};

template <typename T>
class ParameterScope;
template <typename T>
class ParameterStore;

// A handle to a parameter of one store; tied parameters share it. It is fatal
// to use it with another store.
template <typename T>
struct Parameter {
  int32_t index = -1;
  const ParameterStore<T>* store = nullptr;

  // False for a default-constructed handle, such as an absent bias.
  bool has_value() const { return index >= 0; }
  friend bool operator==(Parameter a, Parameter b) {
    return a.index == b.index && a.store == b.store;
  }
};

// What a parameter is to its layer, as far as weight decay tells them apart.
enum class ParameterRole {
  kWeight,         // of a product, or a bias of a layer
  kHeadBias,       // a bias or a scale with a first axis of heads
  kNormalization,  // gain or bias of LayerNorm or RMSNorm
  kEmbedding,      // a table with one row for each id or position
};

struct ParameterOptions {
  bool trainable = true;  // false: the optimiser never changes it
  ParameterRole role = ParameterRole::kWeight;
  double learning_rate_scale = 1;  // multiplies the schedule's learning rate
  // Whether a step reaches few rows of this matrix, as of an embedding: only
  // those of its gradient are then cleared and added. Changes no result.
  bool sparse_gradient = false;
};

struct ParameterInfo {
  std::string name;  // "encoder.gru.0.weight_ih"
  Shape shape;
  ParameterOptions options;
  Initializer initializer;
  int64_t offset = 0;  // of its first element in every slab

  int64_t size() const { return shape.size(); }
};

// A further name of a parameter (tied weights).
struct ParameterAlias {
  std::string name;
  int32_t target;  // index of the parameter
};

// Register first, then Finalize() once, then use. Not copyable, not movable.
template <typename T>
class ParameterStore {
 public:
  ParameterStore() = default;
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  ParameterScope<T> Root();

  // A name that is taken fails a check; so does registering after Finalize().
  Parameter<T> Add(std::string name, const Shape& shape,
                   Initializer initializer, const ParameterOptions& options);
  void AddAlias(std::string name, Parameter<T> target);

  // Lays out the slab and gives each parameter its first values, from the
  // random stream (seed, "init/" + its name). See problem().
  void Finalize(uint64_t seed);
  // The same with zeros as values, for a model whose every weight is read from
  // a file: drawing millions of values takes longer than reading them.
  void FinalizeWithZeros();
  bool finalized() const { return finalized_; }

  // Says after Finalize() that the values exceed physical memory; empty if they
  // do not. They have no storage then, and the parameters can only be counted.
  // CheckMemory() of nn/weights.h gives the same as a status.
  const std::string& problem() const { return problem_; }

  // In the order of registration; aliases apart.
  absl::Span<const ParameterInfo> parameters() const { return parameters_; }
  absl::Span<const ParameterAlias> aliases() const { return aliases_; }
  const ParameterInfo& info(Parameter<T> parameter) const {
    CheckOwns(parameter);
    return parameters_[parameter.index];
  }
  // Fails a check unless `parameter` is of this store.
  void CheckOwns(Parameter<T> parameter) const;

  // By its own name or an alias.
  std::optional<Parameter<T>> FindByName(absl::string_view name) const;

  // Elements of all parameters, tied ones counted once.
  int64_t num_elements() const;
  int64_t num_trainable_elements() const;

  // Elements of a slab: segments start at multiples of 64 bytes, and the gaps
  // between them hold zeros for good.
  int64_t slab_size() const { return values_.size(); }

  // Call a function that is not const before each change of values: it makes
  // later products pack the weights anew. Do not write to a span after a later
  // product, which may have packed the old values. No other thread may compute
  // with the store during a change. Only debug builds check these rules.
  absl::Span<T> values() {
    packed_.Invalidate();
    return values_.span();
  }
  absl::Span<const T> values() const { return values_.span(); }
  absl::Span<T> value(Parameter<T> parameter) {
    return Segment(values(), parameter);
  }
  absl::Span<const T> value(Parameter<T> parameter) const {
    return Segment(values(), parameter);
  }

  // The packed copies of the parameter at `index`, which serve all tapes; and
  // the memory of all of them.
  PackedWeight<T>& packed(size_t index) const { return packed_[index]; }
  int64_t packed_bytes() const { return packed_.bytes(); }

  // The part of any slab of this layout that belongs to `parameter`.
  template <typename U>
  absl::Span<U> Segment(absl::Span<U> slab, Parameter<T> parameter) const {
    REGARD_CHECK_EQ(static_cast<int64_t>(slab.size()), slab_size());
    const ParameterInfo& found = info(parameter);
    return slab.subspan(static_cast<size_t>(found.offset),
                        static_cast<size_t>(found.size()));
  }

 private:
  std::vector<ParameterInfo> parameters_;
  std::vector<ParameterAlias> aliases_;
  Slab<T> values_;
  mutable PackedWeights<T> packed_;
  std::string problem_;
  bool finalized_ = false;
};

// A place in the tree of names. Cheap to copy; valid as long as its store.
template <typename T>
class ParameterScope {
 public:
  ParameterScope(ParameterStore<T>& store, std::string prefix)
      : store_(&store), prefix_(std::move(prefix)) {}

  // The scopes "<this>.<name>", "<this>.<name>.<index>" and "<this>.<index>".
  ParameterScope Sub(absl::string_view name) const;
  ParameterScope Sub(absl::string_view name, int64_t index) const;
  ParameterScope Sub(int64_t index) const;

  Parameter<T> Add(absl::string_view name, const Shape& shape,
                   Initializer initializer,
                   const ParameterOptions& options = {}) const;
  // Gives `target`, of the same store, a second name here.
  void Alias(absl::string_view name, Parameter<T> target) const;

  ParameterStore<T>& store() const { return *store_; }

 private:
  std::string Join(absl::string_view name) const;

  ParameterStore<T>* store_;
  std::string prefix_;
};

// The gradients of one shard of a batch. Forward fills it.
template <typename T>
class GradientSlab {
 public:
  // `store` is finalized.
  explicit GradientSlab(const ParameterStore<T>& store);

  absl::Span<T> values() { return values_.span(); }
  absl::Span<const T> values() const { return values_.span(); }

  // Zeroes the rows that the last backward pass reached, and their marks.
  void ClearTouchedRows(const ParameterStore<T>& store);

  // Marks of the rows of parameter `index` that the step reached, the others
  // being zero; null where the gradient is not sparse.
  uint8_t* touched_rows(int32_t index) {
    return first_row_[index] < 0 ? nullptr : &marks_[first_row_[index]];
  }

  // Whether the last step reached parameter `index`; if not, it holds zeros.
  bool touched(int32_t index) const { return marks_[index] != 0; }

  // The marks of all parameters and rows, laid out as in any other slab of the
  // store; and those of the rows of one parameter, as touched_rows().
  absl::Span<const uint8_t> marks() const { return marks_; }
  const uint8_t* RowsOf(absl::Span<const uint8_t> marks, int32_t index) const {
    return first_row_[index] < 0 ? nullptr : &marks[first_row_[index]];
  }

  // Says whether the step reached a parameter; clears its segment if not.
  void SetTouched(const ParameterInfo& info, int32_t index, bool touched);

  // Marks as touched what another slab's marks say: its values are added to
  // these.
  void MarkTouched(absl::Span<const uint8_t> other);

 private:
  Slab<T> values_;
  std::vector<uint8_t> marks_;      // of parameters, then of rows
  std::vector<int64_t> first_row_;  // of each parameter; -1 where not sparse
};

}  // namespace regard

#endif  // NN_PARAMETERS_H_
