// How positions enter the comparison of any query with any key: rotary
// embeddings, ALiBi, T5's relative buckets, ...
//
// A plug-in of the attention config, combined with any score. It may turn
// queries and keys before the score, and add a bias of the distance to scores.
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

  // Adds what is wrong with the options for these widths, under paths relative
  // to them. An encoding with limits besides (range) declares its own.
  static void Validate(const auto& options, const ScoreWidths&,
                       ConfigProblems& problems) {
    problems.CheckRanges(options);
  }

  // The largest |query position - key position| that is accepted.
  virtual int64_t LongestDistance() const { return kUnlimited; }

  // Encodes raw queries or keys x [batch, heads, n, width], row by row, before
  // the score's Prepare(): row i is at position first + i * step. Turned keys
  // are what a cache holds.
  virtual Var<T> Encode(Forward<T>&, Var<T> x, int64_t /*first*/,
                        int64_t /*step*/) const {
    return x;
  }

  // Whether Encode() returns x as it is.
  virtual bool IsBiasAlone() const { return false; }

  // What is added to the scores at the distances (key position - query
  // position) lowest .. lowest + count - 1: [heads, count]. Empty: nothing.
  virtual Var<T> Bias(Forward<T>&, int64_t /*lowest*/,
                      int64_t /*count*/) const {
    return Var<T>();
  }
};

template <typename T>
using PositionEncodingFactory =
    OptionFactory<PositionEncoding<T>, ParameterScope<T>, const ScoreWidths&>;

// The description is what the encoding does, as a formula.
class PositionEncodingRegistry
    : public PluginRegistry<PositionEncodingConfig,
                            NumericInfo<PositionEncodingFactory, ScoreWidths>> {
 public:
  PositionEncodingRegistry();
};

#define REGARD_POSITION_ENCODING(name, formula) \
  REGARD_PLUGIN(PositionEncodingRegistry, name, formula)

}  // namespace regard

#endif  // ATTENTION_POSITION_ENCODING_H_
