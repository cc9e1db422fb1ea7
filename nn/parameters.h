// The parameters of a model, with names and in a fixed order, in one block of
// memory.
//
//   ParameterStore<float> store;
//   ParameterScope<float> encoder = store.Root().Sub("encoder");
//   Parameter<float> weight = encoder.Sub("gru", 0).Add(
//       "weight_ih", {3 * width, inputs}, RecurrentDefault(width));
//   store.Finalize(seed);  // "encoder.gru.0.weight_ih" now has values
//
// Names are dotted. They must not change, because checkpoints contain them.
// Shapes are as in PyTorch: the weight of a linear layer is [out, in], and
// gates are stacked r, z, n (GRU) and i, f, g, o (LSTM).
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
#include "autodiff/precision.h"
#include "autodiff/shape.h"
#include "nn/initializers.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

// A flat, zeroed, 64-byte aligned block of numbers: the values of all
// parameters, their gradients, or a moment of the optimizer.
template <typename T>
class Slab {
 public:
  static constexpr int64_t kAlignment = 64;  // bytes

  Slab() = default;
  explicit Slab(int64_t size) : size_(size) {
    const int64_t bytes = size * static_cast<int64_t>(sizeof(T));
    // The operating system zeroes the memory, so pages that are never used take
    // no physical memory.
    memory_.reset(std::calloc(static_cast<size_t>(bytes + kAlignment), 1));
    if (memory_ == nullptr) throw std::bad_alloc();  // like `new`
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

// Handle to a parameter of one store. Tied parameters have the same handle.
// Using a handle with another store fails a check.
template <typename T>
struct Parameter {
  int32_t index = -1;
  const ParameterStore<T>* store = nullptr;

  // Whether this is a parameter. False for a default-constructed handle, such
  // as an absent bias.
  bool has_value() const { return index >= 0; }
  friend bool operator==(Parameter a, Parameter b) {
    return a.index == b.index && a.store == b.store;
  }
};

// The role of a parameter in its layer. Decides whether weight decay applies to
// the parameter.
enum class ParameterRole {
  kWeight,         // weight of a matrix product, or bias of a layer
  kHeadBias,       // bias or scale whose first axis is the heads
  kNormalization,  // gain or bias of LayerNorm or RMSNorm
  kEmbedding,      // table with one row for each id or position
};

struct ParameterOptions {
  // Whether the optimizer changes the parameter.
  bool trainable = true;
  ParameterRole role = ParameterRole::kWeight;
  double learning_rate_scale = 1;  // multiplies the schedule's learning rate
  // Whether a step uses few rows of this matrix, as in an embedding. If true,
  // only these rows of the gradient are cleared and added. Does not change the
  // results.
  bool sparse_gradient = false;
};

struct ParameterInfo {
  std::string name;  // "encoder.gru.0.weight_ih"
  Shape shape;
  ParameterOptions options;
  Initializer initializer;
  int64_t offset = 0;  // first element in every slab

  int64_t size() const { return shape.size(); }
};

// A second name of a parameter, for tied weights.
struct ParameterAlias {
  std::string name;
  int32_t target;  // index of the parameter
};

// The parameters of a model. Register parameters, call Finalize() once, then
// use the store. Not copyable or movable.
template <typename T>
class ParameterStore {
 public:
  ParameterStore() = default;
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  ParameterScope<T> Root();

  // Registers a parameter. Fails a check if the name is already used, or if
  // Finalize() was called.
  Parameter<T> Add(std::string name, const Shape& shape,
                   Initializer initializer, const ParameterOptions& options);
  void AddAlias(std::string name, Parameter<T> target);

  // Allocates the slab and sets the initial values. Each parameter has the
  // random stream (seed, "init/" + name). Check problem() afterwards.
  void Finalize(uint64_t seed);
  // Like Finalize(), but with values of zero, for models whose weights are all
  // read from a file. Drawing millions of values takes longer than reading
  // them.
  void FinalizeWithZeros();
  bool finalized() const { return finalized_; }

  // An error message if the values exceed physical memory, otherwise empty. If
  // there is an error, no values are allocated, and the store can only be used
  // to count the parameters. Valid after Finalize(). CheckMemory() in
  // nn/weights.h returns the error as a status.
  const std::string& problem() const { return problem_; }

  // Parameters in the order of registration, without aliases.
  absl::Span<const ParameterInfo> parameters() const { return parameters_; }
  absl::Span<const ParameterAlias> aliases() const { return aliases_; }
  const ParameterInfo& info(Parameter<T> parameter) const {
    CheckOwns(parameter);
    return parameters_[parameter.index];
  }
  // Fails a check unless `parameter` belongs to this store.
  void CheckOwns(Parameter<T> parameter) const;

  // Finds a parameter by its name or an alias. Returns nullopt if no parameter
  // has this name.
  std::optional<Parameter<T>> FindByName(absl::string_view name) const;

  // The number of elements of all parameters. Tied parameters are counted once.
  int64_t num_elements() const;
  int64_t num_trainable_elements() const;

  // The number of elements of a slab. The segment of each parameter begins at a
  // multiple of 64 bytes. The gaps between segments are always zero.
  int64_t slab_size() const { return values_.size(); }

  // Call a non-const overload before each change of values, so that later
  // products repack the weights. Do not write to a span after a later product,
  // which may have packed the old values. During a change, no other thread may
  // compute with the store. Only debug builds check that products read the
  // current weights.
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

  // Sets the precision of products in passes that begin after this call. Null,
  // the initial value, means full precision.
  void set_precision(std::shared_ptr<const PrecisionRule> rule) {
    precision_ = std::move(rule);
  }
  const PrecisionRule* precision() const { return precision_.get(); }

  // The packed copies of the parameter at `index`, which all tapes share.
  // packed_bytes() is the memory of the packed copies of all parameters.
  PackedWeight<T>& packed(size_t index) const { return packed_[index]; }
  int64_t packed_bytes() const { return packed_.bytes(); }

  // Returns the part of a slab that belongs to `parameter`. The slab must have
  // the layout of this store.
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
  std::shared_ptr<const PrecisionRule> precision_;
  std::string problem_;
  bool finalized_ = false;
};

// A prefix of parameter names. Cheap to copy. Must not outlive its store.
template <typename T>
class ParameterScope {
 public:
  ParameterScope(ParameterStore<T>& store, std::string prefix)
      : store_(&store), prefix_(std::move(prefix)) {}

  // Return the scopes "<this>.<name>", "<this>.<name>.<index>" and
  // "<this>.<index>".
  ParameterScope Sub(absl::string_view name) const;
  ParameterScope Sub(absl::string_view name, int64_t index) const;
  ParameterScope Sub(int64_t index) const;

  Parameter<T> Add(absl::string_view name, const Shape& shape,
                   Initializer initializer,
                   const ParameterOptions& options = {}) const;
  // Adds a second name in this scope for `target`, a parameter of the same
  // store.
  void Alias(absl::string_view name, Parameter<T> target) const;

  ParameterStore<T>& store() const { return *store_; }

 private:
  std::string Join(absl::string_view name) const;

  ParameterStore<T>* store_;
  std::string prefix_;
};

// The gradients of one shard of a batch. Forward fills them.
template <typename T>
class GradientSlab {
 public:
  // `store` must be finalized.
  explicit GradientSlab(const ParameterStore<T>& store);

  absl::Span<T> values() { return values_.span(); }
  absl::Span<const T> values() const { return values_.span(); }

  // Zeroes the rows of sparse gradients that the last backward pass reached,
  // and clears the marks of these rows.
  void ClearTouchedRows(const ParameterStore<T>& store);

  // Returns the marks of the rows of parameter `index` that the step reached.
  // All other rows are zero. Returns null unless the gradient is sparse.
  uint8_t* touched_rows(int32_t index) {
    return first_row_[index] < 0 ? nullptr : &marks_[first_row_[index]];
  }

  // Whether the last step reached parameter `index`. The gradient of a
  // parameter that was not reached is zero.
  bool touched(int32_t index) const { return marks_[index] != 0; }

  // The marks of all parameters and rows. All slabs of a store have the same
  // layout of marks. RowsOf() returns the marks of the rows of one parameter,
  // like touched_rows().
  absl::Span<const uint8_t> marks() const { return marks_; }
  const uint8_t* RowsOf(absl::Span<const uint8_t> marks, int32_t index) const {
    return first_row_[index] < 0 ? nullptr : &marks[first_row_[index]];
  }

  // Sets whether the step reached parameter `index`. If `touched` is false,
  // clears the gradient of this parameter.
  void SetTouchedOrClear(const ParameterInfo& info, int32_t index,
                         bool touched);

  // Also marks everything that is marked in `other`, the marks of a slab whose
  // values are added to this slab.
  void MarkTouched(absl::Span<const uint8_t> other);

 private:
  Slab<T> values_;
  std::vector<uint8_t> marks_;      // marks of parameters, then of rows
  std::vector<int64_t> first_row_;  // -1 for a parameter that is not sparse
};

}  // namespace regard

#endif  // NN_PARAMETERS_H_
