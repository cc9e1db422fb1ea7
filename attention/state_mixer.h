// Interface of state mixers. A state mixer replaces self-attention in a
// Transformer layer. It keeps a state of fixed size instead of the keys of all
// positions.
//
// A mixer computes one formula in three forms: a step for decoding, chunks for
// training, and the matrix M with context = M * values. M is the exact
// attention map of the mixer. The layer provides everything else: padding,
// hooks, inspection, beams and residual branches.
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

// The arguments of a mixer's constructor, except its options.
template <typename T>
struct MixerSetup {
  ParameterScope<T> scope;
  int64_t width;    // width of the mixer's input and output
  SlotScope slots;  // for slots of the state kept between steps
  // Initial values of the linear maps: `inputs` for the maps that read the
  // layer's input, and `output` for the map that ends the branch.
  LinearOptions inputs = {.initialization = XavierUniform};
  LinearOptions output = {.initialization = XavierUniform};
};

// The arrays that a mixer computes for each position. An element may also
// depend on a few earlier positions. The axis of positions is -2 in each array.
// All arrays except the values may be empty.
template <typename T>
struct MixerTerms {
  static constexpr int kOthers = 4;

  Var<T> queries;  // [rows, heads, time, key width]
  Var<T> keys;     // [rows, heads, time, key width]
  Var<T> values;   // [rows, heads, time, value width]
  // Further arrays that the mixer needs, such as decays and gates.
  Var<T> others[kOthers];
};

// The context of a position must only depend on this and earlier positions.
template <typename T>
class StateMixer {
 public:
  virtual ~StateMixer() = default;

  // Adds the problems of the options for this width, under paths relative to
  // the options. A mixer with limits other than (range) defines its own
  // Validate().
  static void Validate(const auto& options, const int64_t& /*width*/,
                       ConfigProblems& problems) {
    problems.CheckRanges(options);
  }

  // Computes the terms of x [rows, time, width] at the positions
  // first_position, first_position + 1, ... The terms may depend on earlier
  // positions, as with a convolution. Project() then reads and sets slots of
  // the state that Step() and Chunk() do not use. Project([a; b], p) must equal
  // [Project(a, p); Project(b, p + |a|)], where the second call reads the state
  // that the first one wrote. A null state means that nothing comes before x,
  // and no state is kept.
  virtual MixerTerms<T> Project(Forward<T>& forward, Var<T> x,
                                int64_t first_position,
                                LayerState<T>* state) const = 0;

  // The contexts [rows, heads, 1, value width] of one position. Reads and sets
  // slots of the state, which are empty before the first position.
  virtual Var<T> Step(Forward<T>& forward, const MixerTerms<T>& terms,
                      LayerState<T>* state) const = 0;

  // The contexts [rows, heads, time, value width] of all positions, equal to
  // the results of successive calls of Step(). A null state means that nothing
  // comes before the first position, and no state is kept.
  virtual Var<T> Chunk(Forward<T>& forward, const MixerTerms<T>& terms,
                       LayerState<T>* state) const = 0;

  // The matrix M [rows, heads, time, time]. M times terms.values equals Chunk()
  // without a state. M[t, s] = 0 for s > t.
  virtual Var<T> Matrix(Forward<T>& forward,
                        const MixerTerms<T>& terms) const = 0;

  // Maps contexts [rows, heads, time, value width] to [rows, time, width], row
  // by row.
  virtual Var<T> Output(Forward<T>& forward, const MixerTerms<T>& terms,
                        Var<T> contexts) const = 0;
};

template <typename T>
using MixerFactory = PluginFactory<StateMixer<T>, const MixerSetup<T>&>;

// The registered mixers. The description is the formula of a step.
class MixerRegistry
    : public PluginRegistry<MixerConfig,
                            TemplatePluginInfo<MixerFactory, int64_t>> {
 public:
  MixerRegistry();
};

// Whether the config chooses a state mixer in place of attention.
bool HasStateMixer(const MixerConfig& config);

#define REGARD_STATE_MIXER(name, formula) \
  REGARD_PLUGIN(MixerRegistry, name, formula)

}  // namespace regard

#endif  // ATTENTION_STATE_MIXER_H_
