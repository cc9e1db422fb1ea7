// The trainer's view of a model, whatever its task.
//
// A batch is cut into shards; each shard's loss is computed on a tape of its
// own. Every term of the loss is a sum over the shard's examples, and the loss
// of the batch is
//
//   sum over terms of  weight * (sum over shards of sum) / denominator,
//
// so the denominators, over the whole batch, are known before any forward pass
// and the result does not depend on the cut.
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

// How the loss of a model is made from its sum over a batch.
struct LossOptions {
  enum class Normalizer { kPerToken, kPerSequence, kSum };
  Normalizer normalizer = Normalizer::kPerToken;
  double scale = 1;
  double label_smoothing = 0;

  // Of a batch with so many tokens to predict in so many sequences; both are
  // the number of examples where an example is one thing to predict.
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
  uint64_t seed = 0;  // of the parameters' first values
  // Whether parameters have values; without, they can only be counted, and
  // ParameterStore::Finalize() is left to the caller.
  bool finalize = true;
};

struct LossTerm {
  const char* name;  // as in "train/<name>"
  double weight;     // in the loss that is minimised; 0: reported only
};

// Positions of an example's sequences, which batches pad to their longest: of
// source and target, or of one sequence and 0.
using SequenceLengths = std::array<int64_t, 2>;

enum class Split { kTrain, kDev, kTest };

template <typename T>
class Model {
 public:
  // One loss term, `term`; see AddLossTerm().
  explicit Model(const LossOptions& loss = {}, const char* term = "loss")
      : loss_(loss), terms_{{term, loss.scale}} {}
  virtual ~Model() = default;

  // Finalized.
  virtual ParameterStore<T>& parameters() = 0;

  // Training examples; they are named by 0 .. num_examples() - 1 below.
  virtual int64_t num_examples() const = 0;

  // Examples, or valid target tokens: the unit of speed and training losses,
  // and its name in a speed.
  virtual int64_t CountWork(absl::Span<const int64_t> examples) const {
    return static_cast<int64_t>(examples.size());
  }
  virtual const char* work_unit() const { return "examples"; }

  // What loss term `term` is a sum over, for the mean that is logged.
  virtual int64_t CountTerm(size_t /*term*/,
                            absl::Span<const int64_t> examples) const {
    return CountWork(examples);
  }

  // Makes the training examples those of `epoch`, where data sources draw them
  // anew in each (subword regularisation); without an epoch, those by whose
  // lengths batches are planned, which is the state at first. What the methods
  // around this one say is of the current examples. Called between updates, and
  // does nothing if the epoch is the current one.
  virtual void BeginEpoch(std::optional<int64_t> /*epoch*/) {}

  // All 0, the default: all examples have one length, and nothing is padded.
  virtual SequenceLengths Lengths(int64_t /*example*/) const { return {0, 0}; }

  // The same for the life of the model.
  virtual absl::Span<const LossTerm> loss_terms() const { return terms_; }

  // Sets denominators[i], of loss term i, for a whole batch: by default what
  // CountTerm() says, sequences, or 1, as the normalizer of the LossOptions
  // says. Never 0.
  virtual void Denominators(absl::Span<const int64_t> examples,
                            absl::Span<double> denominators) const {
    for (size_t term = 0; term < denominators.size(); ++term) {
      denominators[term] =
          loss_.Denominator(std::max<int64_t>(1, CountTerm(term, examples)),
                            static_cast<int64_t>(examples.size()));
    }
  }

  // Sets sums[i], a scalar, to loss term i of one shard. `denominators` are
  // those of the whole batch. Inputs are assembled in the tape's arena: a warm
  // call allocates nothing on the heap. Calls on different Forwards may run at
  // the same time.
  virtual void Loss(Forward<T>& forward, absl::Span<const int64_t> examples,
                    absl::Span<const double> denominators,
                    absl::Span<Var<T>> sums) const = 0;

  // Whether examples of a batch meet in the loss (contrastive losses, batch
  // statistics), so that it cannot be cut into shards.
  virtual bool couples_examples() const { return false; }

  // What is known of each data set of `split`; nothing if the task has no such
  // split. `forward` has no gradients; this begins its steps itself.
  virtual std::vector<EvaluatedSet> Evaluate(Forward<T>& forward,
                                             Split split) const = 0;

 protected:
  const LossOptions& loss_options() const { return loss_; }
  // In the constructor. `weight` is relative to the first term's.
  void AddLossTerm(const char* name, double weight) {
    terms_.push_back({name, loss_.scale * weight});
  }

 private:
  const LossOptions loss_;
  std::vector<LossTerm> terms_;
};

}  // namespace regard

#endif  // OPTIMIZATION_MODEL_H_
