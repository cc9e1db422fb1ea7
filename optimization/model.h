// The interface between the trainer and a model of any task.
//
// A batch is cut into shards, and the loss of each shard is computed on its own
// tape. Every term of the loss is a sum over the examples of a shard. The loss
// of the batch is
//
//   sum over terms of  weight * (sum over shards of sum) / denominator.
//
// The denominators refer to the whole batch and are known before any forward
// pass. The loss therefore does not depend on how the batch is cut.
#ifndef OPTIMIZATION_MODEL_H_
#define OPTIMIZATION_MODEL_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "optimization/evaluated_set.h"

namespace regard {

// Determines how the loss is computed from the sum over a batch.
struct LossOptions {
  enum class Normalizer { kPerToken, kPerSequence, kSum };
  Normalizer normalizer = Normalizer::kPerToken;
  double scale = 1;
  double label_smoothing = 0;

  // Returns the denominator for a batch with `tokens` tokens to predict in
  // `sequences` sequences. If an example is a single prediction, both arguments
  // are the number of examples.
  double Denominator(int64_t tokens, int64_t sequences) const {
    switch (normalizer) {
      case Normalizer::kPerToken:
        return static_cast<double>(tokens);
      case Normalizer::kPerSequence:
        return static_cast<double>(sequences);
      case Normalizer::kSum:
        break;
    }
    return 1;
  }
};

struct ModelOptions {
  LossOptions loss;
  uint64_t seed = 0;  // seed of the initial values of parameters
  // Whether the constructor finalizes the parameters. If false, parameters can
  // only be counted until the caller calls ParameterStore::Finalize().
  bool finalize = true;
};

struct LossTerm {
  const char* name;  // name as in "train/<name>"
  double weight;     // weight in the loss; 0: only reported
};

// The lengths of an example's sequences, in positions: {source, target}, or
// {length, 0} for a single sequence. Batches are padded to the longest
// sequence.
using SequenceLengths = std::array<int64_t, 2>;

enum class Split { kTrain, kDev, kTest };

template <typename T>
class Model {
 public:
  // A model with one loss term, named `term`. See AddLossTerm().
  explicit Model(const LossOptions& loss = {}, const char* term = "loss")
      : loss_(loss), terms_{{term, loss.scale}} {}
  virtual ~Model() = default;

  // The parameters, which are finalized.
  virtual ParameterStore<T>& parameters() = 0;

  // The number of training examples. The methods below identify examples by 0
  // .. num_examples() - 1.
  virtual int64_t num_examples() const = 0;

  // Returns the amount of work in these examples, for reports of speed and of
  // training loss per unit of work. The unit is an example or a valid target
  // token, and work_unit() is its name.
  virtual int64_t CountWork(absl::Span<const int64_t> examples) const {
    return static_cast<int64_t>(examples.size());
  }
  virtual const char* work_unit() const { return "examples"; }

  // The number of elements of loss term `term` in these examples. The logged
  // mean is the sum of the term divided by this number.
  virtual int64_t CountTermElements(size_t /*term*/,
                                    absl::Span<const int64_t> examples) const {
    return CountWork(examples);
  }

  // Selects the training examples of `epoch`, if data sources draw new ones in
  // each epoch (subword regularization). `nullopt` selects the initial
  // examples, whose lengths are used to plan batches. The other methods refer
  // to the selected examples. Called between optimizer steps. A no-op if the
  // epoch is already selected.
  virtual void BeginEpoch(std::optional<int64_t> /*epoch*/) {}

  // The lengths of an example. Zeros, the default, mean that all examples have
  // the same length and nothing is padded.
  virtual SequenceLengths Lengths(int64_t /*example*/) const { return {0, 0}; }

  // The terms of the loss. They do not change during the lifetime of the model.
  virtual absl::Span<const LossTerm> loss_terms() const { return terms_; }

  // Sets denominators[i] to the denominator of loss term i for a whole batch,
  // never 0. By default, the normalizer of the LossOptions selects
  // CountTermElements(), the number of sequences, or 1.
  virtual void Denominators(absl::Span<const int64_t> examples,
                            absl::Span<double> denominators) const {
    for (size_t term = 0; term < denominators.size(); ++term) {
      denominators[term] = loss_.Denominator(
          std::max<int64_t>(1, CountTermElements(term, examples)),
          static_cast<int64_t>(examples.size()));
    }
  }

  // Sets sums[i], a scalar, to loss term i of one shard. The sums are not
  // divided: the caller divides them by `denominators`, which belong to the
  // whole batch. Inputs are assembled in the tape's arena, so that only the
  // first calls make heap allocations. Calls with different Forwards may run at
  // the same time.
  virtual void Loss(Forward<T>& forward, absl::Span<const int64_t> examples,
                    absl::Span<const double> denominators,
                    absl::Span<Var<T>> sums) const = 0;

  // Whether the loss depends on several examples of a batch at once, as for
  // contrastive losses and batch statistics. The batch then cannot be cut into
  // shards.
  virtual bool couples_examples() const { return false; }

  // Evaluates each data set of `split`. Returns an empty list if the task does
  // not have this split. `forward` must have no gradient slab. This function
  // begins the steps of `forward`.
  virtual std::vector<EvaluatedSet> Evaluate(Forward<T>& forward,
                                             Split split) const = 0;

 protected:
  const LossOptions& loss_options() const { return loss_; }
  // Adds a loss term. `weight` is relative to the weight of the first term.
  // Must be called in the constructor.
  void AddLossTerm(const char* name, double weight) {
    terms_.push_back({name, loss_.scale * weight});
  }

 private:
  const LossOptions loss_;
  std::vector<LossTerm> terms_;
};

}  // namespace regard

#endif  // OPTIMIZATION_MODEL_H_
