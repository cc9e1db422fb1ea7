// Interface of position encodings, such as rotary encoding, ALiBi and T5's
// relative buckets. An encoding is a plug-in of the attention config and works
// with any score. An encoding may change queries and keys before they are
// scored. It may also add a bias that depends on the distance to the scores.
//
// The options of an encoding in another repository extend
// OutsidePositionEncoding. A library among the `tasks` of regard_binary() then
// registers the class:
//
//   REGARD_PLUGINS(MyEncoding) {
//     plugins.scorers.position_encodings.Add<Mine>("its formula");
//   }
#ifndef ATTENTION_POSITION_ENCODING_H_
#define ATTENTION_POSITION_ENCODING_H_

#include <cstdint>

#include "attention/scoring_function.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "options/config_problems.h"
#include "options/option_registry.h"

namespace regard {

class PositionEncodingConfig;

template <typename T>
class PositionEncoding {
 public:
  virtual ~PositionEncoding() = default;

  // Adds the problems of the options for these widths, under paths relative to
  // the options. An encoding with limits other than (range) defines its own
  // Validate().
  static void Validate(const auto& options, const ScoreWidths&,
                       ConfigProblems& problems) {
    problems.CheckRanges(options);
  }

  // The largest accepted |query position - key position|.
  virtual int64_t MaxDistance() const { return kUnlimited; }

  // Encodes queries or keys x [batch, heads, n, width], row by row, before the
  // score's Prepare(). Row i is at position first + i * step. A cache stores
  // encoded keys.
  virtual Var<T> Encode(Forward<T>&, Var<T> x, int64_t /*first*/,
                        int64_t /*step*/) const {
    return x;
  }

  // Whether Encode() returns x unchanged.
  virtual bool IsOnlyBias() const { return false; }

  // The biases [heads, count] of the scores at the distances
  // (key position - query position) lowest .. lowest + count - 1. Empty means
  // no bias.
  virtual Var<T> Bias(Forward<T>&, int64_t /*lowest*/,
                      int64_t /*count*/) const {
    return Var<T>();
  }
};

template <typename T>
using PositionEncodingFactory =
    PluginFactory<PositionEncoding<T>, ParameterScope<T>, const ScoreWidths&>;

// The registered position encodings. The description is a formula of what the
// encoding does.
class PositionEncodingRegistry
    : public PluginRegistry<
          PositionEncodingConfig,
          TemplatePluginInfo<PositionEncodingFactory, ScoreWidths>> {
 public:
  PositionEncodingRegistry();
};

#define REGARD_POSITION_ENCODING(name, formula) \
  REGARD_PLUGIN(PositionEncodingRegistry, name, formula)

}  // namespace regard

#endif  // ATTENTION_POSITION_ENCODING_H_
