// Interface of score maps, such as a soft cap and talking heads. A score map
// changes the scores of any score before the normalizer (`map_before`), or the
// weights after it (`map_after`).
//
// A map is a class with one method and one line of registration:
//
//   template <typename T>
//   class HalfScores : public ScoreMap<T> {
//    public:
//     using Options = HalfScoresMap;
//     HalfScores(const Options&, ParameterScope<T>, const ScoreWidths&) {}
//     Var<T> Map(Forward<T>&, Var<T> x, const ScoreInputs<T>&) const override {
//       return x / 2;
//     }
//   };
//   REGARD_SCORE_MAP(HalfScores, "s / 2")
#ifndef ATTENTION_SCORE_MAP_H_
#define ATTENTION_SCORE_MAP_H_

#include "attention/scoring_function.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "options/config_problems.h"
#include "options/option_registry.h"

namespace regard {

class ScoreMapConfig;

template <typename T>
class ScoreMap {
 public:
  // Whether an element of the result depends on other heads (kMixesHeads), or
  // on other keys or the number of visible keys (kMixesKeys). An element must
  // never depend on another query or example.
  static constexpr bool kMixesHeads = false;
  static constexpr bool kMixesKeys = false;
  // Whether the map is for scores only. Choosing it for weights is then an
  // error.
  static constexpr bool kOnlyScores = false;

  virtual ~ScoreMap() = default;

  // Adds the problems of the options for these widths, under paths relative to
  // the options. A map with limits other than (range) defines its own
  // Validate().
  static void Validate(const auto& options, const ScoreWidths&,
                       ConfigProblems& problems) {
    problems.CheckRanges(options);
  }

  // x [batch, heads, queries, keys] -> the same shape. Before the normalizer, x
  // contains scores. A score of -inf must stay -inf, and scores of masked keys
  // are undefined. After the normalizer, x contains weights. A weight of 0 must
  // stay 0. Masked keys have weight 0, and visible keys may also have weight 0.
  // As in ScoringFunction::Score(), x may contain only a part of the queries
  // and keys of a call.
  virtual Var<T> Map(Forward<T>& forward, Var<T> x,
                     const ScoreInputs<T>& inputs) const = 0;
};

template <typename T>
using ScoreMapFactory =
    PluginFactory<ScoreMap<T>, ParameterScope<T>, const ScoreWidths&>;

// A registered map. The description is its formula.
struct ScoreMapInfo : TemplatePluginInfo<ScoreMapFactory, ScoreWidths> {
  bool mixes_heads;
  bool mixes_keys;
  bool only_scores;

  template <typename Plugin>
  void Describe() {
    mixes_heads = Plugin::kMixesHeads;
    mixes_keys = Plugin::kMixesKeys;
    only_scores = Plugin::kOnlyScores;
  }
};

class ScoreMapRegistry : public PluginRegistry<ScoreMapConfig, ScoreMapInfo> {
 public:
  ScoreMapRegistry();
};

#define REGARD_SCORE_MAP(name, formula) \
  REGARD_PLUGIN(ScoreMapRegistry, name, formula)

}  // namespace regard

#endif  // ATTENTION_SCORE_MAP_H_
