// The interface that an author of a state mixer implements.
//
// A state mixer takes the place of self-attention in a Transformer layer. It
// keeps a state of fixed size in place of the keys of all positions. One
// formula has three forms: a step for decoding, chunks for training, and the
// matrix M with context = M values, which is its exact attention map. Padding,
// hooks, inspection, beams and residual branches are the framework's.
//
//   template <typename T>
//   class MyMixer : public StateMixer<T> {
//    public:
//     using Options = MyMixerOptions;
//     MyMixer(const Options&, const MixerSetup<T>& setup);
//     ...
//   };
//   REGARD_STATE_MIXER(MyMixer, "S = S + k v^T, o = S^T q")
#ifndef ATTENTION_STATE_MIXER_H_
#define ATTENTION_STATE_MIXER_H_

#include <cstdint>

#include "attention/layer_state.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/initializers.h"
#include "nn/layers/linear.h"
#include "nn/parameters.h"
#include "options/config_problems.h"
#include "options/option_registry.h"

namespace regard {

class MixerConfig;

// Everything that a mixer is built from, besides its options.
template <typename T>
struct MixerSetup {
  ParameterScope<T> scope;
  int64_t width;    // width of its input and output
  SlotScope slots;  // where it declares what it keeps between steps
  // Initial values of linear maps, and of the one that ends the branch.
  LinearOptions inputs = {.initialization = XavierUniform};
  LinearOptions output = {.initialization = XavierUniform};
};

// The arrays that a mixer computes of each position, and perhaps of a few
// earlier ones. The positions are axis -2 of each array. All but the values may
// be empty.
template <typename T>
struct MixerTerms {
  static constexpr int kOthers = 4;

  Var<T> queries;  // [rows, heads, time, key width]
  Var<T> keys;     // [rows, heads, time, key width]
  Var<T> values;   // [rows, heads, time, value width]
  // What the mixer needs besides, in an order of its own: decays, gates.
  Var<T> others[kOthers];
};

// Each position reads itself and earlier ones.
template <typename T>
class StateMixer {
 public:
  virtual ~StateMixer() = default;

  // Adds what is wrong with the options for this width, under paths relative to
  // the options. A mixer with limits besides (range) declares its own.
  static void Validate(const auto& options, const int64_t& /*width*/,
                       ConfigProblems& problems) {
    problems.CheckRanges(options);
  }

  // x [rows, time, width], at positions first_position, first_position + 1, ...
  // Reads and sets slots of the state if terms depend on earlier positions, as
  // with a convolution: Project([a; b], p) = [Project(a, p); Project(b, p +
  // |a|)], given the state that a leaves. Step() and Chunk() use other slots.
  // Null: there is nothing before x, and no state is wanted.
  virtual MixerTerms<T> Project(Forward<T>& forward, Var<T> x,
                                int64_t first_position,
                                LayerState<T>* state) const = 0;

  // The contexts [rows, heads, 1, value width] of one position. Reads its slots
  // of the state, which are empty before the first position, and sets them.
  virtual Var<T> Step(Forward<T>& forward, const MixerTerms<T>& terms,
                      LayerState<T>* state) const = 0;

  // The contexts [rows, heads, time, value width] of all positions, as Step()
  // gives them one after another. Null: there is nothing before the first, and
  // no state is wanted.
  virtual Var<T> Chunk(Forward<T>& forward, const MixerTerms<T>& terms,
                       LayerState<T>* state) const = 0;

  // M [rows, heads, time, time], whose product with terms.values is Chunk()
  // without a state. M[t, s] = 0 for s > t.
  virtual Var<T> Matrix(Forward<T>& forward,
                        const MixerTerms<T>& terms) const = 0;

  // contexts [rows, heads, time, value width] -> [rows, time, width], row by
  // row.
  virtual Var<T> Output(Forward<T>& forward, const MixerTerms<T>& terms,
                        Var<T> contexts) const = 0;
};

template <typename T>
using MixerFactory = OptionFactory<StateMixer<T>, const MixerSetup<T>&>;

// The description is the formula of a step.
class MixerRegistry
    : public PluginRegistry<MixerConfig, NumericInfo<MixerFactory, int64_t>> {
 public:
  MixerRegistry();
};

// Whether the mixer of a layer is a state mixer; otherwise it is attention.
bool HasStateMixer(const MixerConfig& config);

#define REGARD_STATE_MIXER(name, formula) \
  REGARD_PLUGIN(MixerRegistry, name, formula)

}  // namespace regard

#endif  // ATTENTION_STATE_MIXER_H_
