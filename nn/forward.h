// What a layer needs to compute: the tape, and the parameters as Vars of it.
//
//   forward.BeginStep();
//   Var<T> loss = ...;                 // layers ask for forward[weight_]
//   forward.Backward({loss}, {1.0});   // now `gradients` is complete
#ifndef NN_FORWARD_H_
#define NN_FORWARD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "nn/parameters.h"
#include "nn/probe.h"
#include "nn/row_statistics.h"

namespace regard {

template <typename T>
class Forward {
 public:
  // Without `gradients` (inference) parameters are constants, and nothing is
  // recorded for their sake. All three outlive this.
  Forward(Tape<T>& tape, const ParameterStore<T>& parameters,
          GradientSlab<T>* gradients);

  // Over parameters that are values of the tape already, in the store's order
  // and shapes; for checks of gradients. There is no BeginStep().
  Forward(Tape<T>& tape, const ParameterStore<T>& parameters,
          absl::Span<const Var<T>> leaves);

  Forward(const Forward&) = delete;
  Forward& operator=(const Forward&) = delete;

  // From the next BeginStep() on; null: as in the constructor.
  void set_gradients(GradientSlab<T>* gradients) { gradients_ = gradients; }

  ~Forward();

  // Makes those of the companions 0 .. count - 1 that are missing: passes of
  // inference over the same parameters. Each has a tape of its own, which is
  // kept with its memory as long as this, and is for one thread at a time. All
  // `count` take the mode and the random state that this tape has now.
  void MakeCompanions(int64_t count);
  Forward& companion(int64_t index);

  // Resets the tape and makes each parameter's one leaf, see Tape::Leaf().
  void BeginStep();

  // The parameter's leaf of this step; never written to.
  Var<T> operator[](Parameter<T> parameter) const;

  // Runs the tape backwards from scalars[i] with gradient seeds[i], then
  // completes the gradient slab: what was not reached is zero. A scalar that
  // needs no gradient is passed over. Once a step, outside of scopes. Of the
  // step's other values, those that are older than all scalars are not valid
  // afterwards: gradients take their place. The scalars' values remain.
  void Backward(absl::Span<const Var<T>> scalars,
                absl::Span<const double> seeds);

  // Not owned; null, as at first: nobody watches the pass.
  void set_probe(Probe<T>* probe) { probe_ = probe; }
  Probe<T>* probe() const { return probe_; }

  // What the probe wants of the site `name` in the tape's scope.
  SiteWish Wish(const char* name) const {
    return probe_ == nullptr ? SiteWish() : AskProbe(name);
  }
  // Each value that is a site passes through here once in a pass, before it is
  // used: what the pass goes on with, which is `value` unless the probe
  // replaces it. `input`, of the same shape: see SiteWish.
  Var<T> Site(const char* name, Var<T> value, Var<T> input = {}) const {
    return probe_ == nullptr ? value : Visit(name, value, input, RowPlace());
  }
  // Site() for attention weights whose rows are not at the positions of the
  // first keys: where they are.
  Var<T> WeightsSite(const char* name, Var<T> weights,
                     const RowPlace& place) const {
    return probe_ == nullptr ? weights : Visit(name, weights, {}, place);
  }
  // Of a value that the pass keeps within a kernel: if it is read, compute() ->
  // Var<T> runs beside the pass, unrecorded. With `place`, it is also computed
  // for statistics of rows.
  template <typename F>
  void SiteBeside(const char* name, F compute,
                  const std::optional<RowPlace>& place = std::nullopt) const {
    const SiteWish wish = Wish(name);
    const bool reads_rows = place.has_value() && wish.rows.any();
    if ((!wish.value && !reads_rows) || tape_.in_backward()) return;
    const bool recording = tape_.recording();
    tape_.set_recording(false);
    Visit(name, compute(), {}, place);
    tape_.set_recording(recording);
  }

  // For weights that the pass does not hold: statistics, not yet filled in,
  // that the probe wants of the rows of the site `name`. While a pass is
  // computed again, it wants none. `rows` is [batch, heads, queries, ..].
  RowStatistics NewRows(const char* name, const Shape& rows) const {
    if (probe_ == nullptr || tape_.in_backward()) return {};
    return RowStatistics::New(tape_.arena(), AskProbe(name).rows, rows);
  }
  // Gives them to the probe, if there are any.
  void GiveRows(const char* name, const RowStatistics& rows) const {
    if (rows.has_value()) probe_->OnRows(SiteName(name), rows);
  }

  Tape<T>& tape() const { return tape_; }
  const ParameterStore<T>& parameters() const { return parameters_; }

 private:
  // Of `name` in the tape's scope, until the next call.
  const std::string& SiteName(const char* name) const;
  SiteWish AskProbe(const char* name) const;
  // Gives statistics of rows only if there is a `place`.
  Var<T> Visit(const char* name, Var<T> value, Var<T> input,
               const std::optional<RowPlace>& place) const;

  struct Companion;

  Tape<T>& tape_;
  const ParameterStore<T>& parameters_;
  GradientSlab<T>* gradients_;
  std::vector<Var<T>> leaves_;
  bool went_back_ = false;  // in this step
  Probe<T>* probe_ = nullptr;
  mutable std::string site_name_;  // whose memory is kept
  std::vector<std::unique_ptr<Companion>> companions_;
};

}  // namespace regard

#endif  // NN_FORWARD_H_
