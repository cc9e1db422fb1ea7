// The forward and backward pass of a model. Provides the tape to layers, and
// the parameters as Vars of the tape.
//
//   forward.BeginStep();
//   Var<T> loss = ...;                 // layers read forward[weight_]
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
#include "nn/hook.h"
#include "nn/parameters.h"
#include "nn/row_statistics.h"

namespace regard {

template <typename T>
class Forward {
 public:
  // If `gradients` is null, parameters are constants, and passes compute no
  // gradients of parameters. All arguments must outlive this object.
  Forward(Tape<T>& tape, const ParameterStore<T>& parameters,
          GradientSlab<T>* gradients);

  // For gradient checks. Uses `leaves`, which are Vars of the tape, as the
  // parameters. They must have the order and the shapes of the store's
  // parameters. Do not call BeginStep().
  Forward(Tape<T>& tape, const ParameterStore<T>& parameters,
          absl::Span<const Var<T>> leaves);

  Forward(const Forward&) = delete;
  Forward& operator=(const Forward&) = delete;

  // Sets the gradient slab of later steps. If null, later steps compute no
  // gradients of parameters. Not owned.
  void set_gradients(GradientSlab<T>* gradients) { gradients_ = gradients; }

  ~Forward();

  // Creates the missing companions among 0 .. count - 1. A companion is an
  // inference pass over the same parameters. One thread at a time may use it.
  // It has its own tape, whose memory lives as long as this object. All `count`
  // companions get the current mode and random state of this object's tape.
  void MakeCompanions(int64_t count);
  Forward& companion(int64_t index);

  // Resets the tape, creates the leaf of each parameter (see Tape::Leaf()), and
  // copies the precision rule of the parameters to the tape.
  void BeginStep();

  // Returns the leaf of a parameter in this step. Must not be written to.
  Var<T> operator[](Parameter<T> parameter) const;

  // Runs the backward pass from each scalars[i] with the gradient seeds[i], and
  // fills the gradient slab. Parameters that the pass does not reach get
  // gradients of zero. Scalars that need no gradient are ignored. Call this
  // function at most once in a step, and not within a scope of the tape.
  //
  // Values older than all scalars become invalid, because gradients reuse their
  // memory. The scalars keep their values.
  void Backward(absl::Span<const Var<T>> scalars,
                absl::Span<const double> seeds);

  // Sets the hook of later passes. Not owned. Null, the initial value, means no
  // hook.
  void set_hook(Hook<T>* hook) { hook_ = hook; }
  Hook<T>* hook() const { return hook_; }

  // Returns the request of the hook for the hook point `name` in the tape's
  // scope.
  HookRequest Request(const char* name) const {
    return hook_ == nullptr ? HookRequest() : RequestFor(name);
  }
  // Passes a value through the hook point `name`. Call this function once in a
  // pass for each hook point, before the value is used. Returns `value`, or the
  // value with which the hook replaces it. `input` has the shape of `value`;
  // see HookRequest.
  Var<T> Site(const char* name, Var<T> value, Var<T> input = {}) const {
    return hook_ == nullptr
               ? value
               : PassThroughHook(name, value, input, WeightBlockPosition());
  }
  // Like Site(), for attention weights whose query i is not at the position of
  // key i. `place` has the positions of the queries.
  Var<T> WeightsSite(const char* name, Var<T> weights,
                     const WeightBlockPosition& place) const {
    return hook_ == nullptr ? weights
                            : PassThroughHook(name, weights, {}, place);
  }
  // Like Site(), for a value that a kernel does not store. If the hook reads
  // the value, calls compute() -> Var<T> without recording operations. If
  // `place` is set, also calls compute() for row statistics.
  template <typename F>
  void LazySite(
      const char* name, F compute,
      const std::optional<WeightBlockPosition>& place = std::nullopt) const {
    const HookRequest request = Request(name);
    const bool reads_rows = place.has_value() && request.rows.any();
    if ((!request.value && !reads_rows) || tape_.in_backward()) return;
    const bool recording = tape_.recording();
    tape_.set_recording(false);
    PassThroughHook(name, compute(), {}, place);
    tape_.set_recording(recording);
  }

  // Returns row statistics for a kernel to fill, with the arrays that the hook
  // requests. `name` is the hook point of the weights, which are not stored.
  // `rows` is [batch, heads, queries, ..]. Returns no arrays while a pass is
  // recomputed.
  AttentionStatistics NewRowStatistics(const char* name,
                                       const Shape& rows) const {
    if (hook_ == nullptr || tape_.in_backward()) return {};
    return AttentionStatistics::New(tape_.arena(), RequestFor(name).rows, rows);
  }
  // Passes row statistics to the hook. A no-op if they are empty.
  void PassRowStatistics(const char* name,
                         const AttentionStatistics& rows) const {
    if (rows.has_value()) hook_->OnRowStatistics(SiteName(name), rows);
  }

  Tape<T>& tape() const { return tape_; }
  const ParameterStore<T>& parameters() const { return parameters_; }

 private:
  // Returns the full name of `name` in the tape's scope. Valid until the next
  // call.
  const std::string& SiteName(const char* name) const;
  HookRequest RequestFor(const char* name) const;
  // Computes row statistics only if `place` is set.
  Var<T> PassThroughHook(const char* name, Var<T> value, Var<T> input,
                         const std::optional<WeightBlockPosition>& place) const;

  struct Companion;

  Tape<T>& tape_;
  const ParameterStore<T>& parameters_;
  GradientSlab<T>* gradients_;
  std::vector<Var<T>> leaves_;
  bool went_back_ = false;  // whether this step has called Backward()
  Hook<T>* hook_ = nullptr;
  mutable std::string site_name_;  // a member, so that its memory is reused
  std::vector<std::unique_ptr<Companion>> companions_;
};

}  // namespace regard

#endif  // NN_FORWARD_H_
