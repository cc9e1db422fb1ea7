// The scoring functions that a program knows, by the message of their options.
//
// A registry is passed, never global: a program's main() registers the built-in
// scores and those of its user.
#ifndef ATTENTION_SCORER_REGISTRY_H_
#define ATTENTION_SCORER_REGISTRY_H_

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "attention/attention.pb.h"
#include "attention/scoring_function.h"
#include "google/protobuf/message.h"
#include "nn/config_problems.h"

namespace regard {

// What is known of one scoring function.
struct ScorerInfo {
  std::string name;     // of its options message: "regard.DotScore"
  std::string formula;  // "q . k"
  const google::protobuf::Message* default_options;
  bool position_aware;
  bool uses_history;
  // Says what is wrong with options for the given widths, under paths relative
  // to the options.
  void (*validate)(const google::protobuf::Message& options,
                   const ScoreWidths& widths, ConfigProblems& problems);
  std::unique_ptr<ScoringFunction<float>> (*create_float)(
      const google::protobuf::Message& options, ParameterScope<float> scope,
      const ScoreWidths& widths);
  std::unique_ptr<ScoringFunction<double>> (*create_double)(
      const google::protobuf::Message& options, ParameterScope<double> scope,
      const ScoreWidths& widths);
};

class ScorerRegistry {
 public:
  // Adds Scorer<T>, whose Scorer<T>::Options is its options message. It may
  // have a static Validate(const Options&, const ScoreWidths&,
  // ConfigProblems&).
  template <template <typename> class Scorer>
  void Add(absl::string_view formula) {
    using Options = typename Scorer<float>::Options;
    Insert({std::string(Options::descriptor()->full_name()),
            std::string(formula), &Options::default_instance(),
            Scorer<float>::kPositionAware, Scorer<float>::kUsesHistory,
            &ValidateAs<Scorer>, &CreateAs<Scorer, float>,
            &CreateAs<Scorer, double>});
  }

  // Sorted by name.
  absl::Span<const ScorerInfo> scorers() const { return scorers_; }

  // The options that `config` chose: a member of its oneof, or the one
  // extension of `outside`; null if none, or more than one extension, is set.
  static const google::protobuf::Message* ChosenOptions(
      const Attention& config);

  // Null where `options` is null or of an unregistered type.
  const ScorerInfo* Find(const google::protobuf::Message* options) const;

  // Paths are relative to `config`.
  void Validate(const Attention& config, const ScoreWidths& widths,
                ConfigProblems& problems) const;

  // The scoring function of a valid config; parameters go under `scope`.
  template <typename T>
  std::unique_ptr<ScoringFunction<T>> Create(const Attention& config,
                                             ParameterScope<T> scope,
                                             const ScoreWidths& widths) const;

 private:
  template <template <typename> class Scorer>
  static void ValidateAs(const google::protobuf::Message& options,
                         const ScoreWidths& widths, ConfigProblems& problems) {
    using Options = typename Scorer<float>::Options;
    if constexpr (requires(const Options& o) {
                    Scorer<float>::Validate(o, widths, problems);
                  }) {
      Scorer<float>::Validate(static_cast<const Options&>(options), widths,
                              problems);
    }
  }

  template <template <typename> class Scorer, typename T>
  static std::unique_ptr<ScoringFunction<T>> CreateAs(
      const google::protobuf::Message& options, ParameterScope<T> scope,
      const ScoreWidths& widths) {
    return std::make_unique<Scorer<T>>(
        static_cast<const typename Scorer<T>::Options&>(options), scope,
        widths);
  }

  void Insert(ScorerInfo info);

  std::vector<ScorerInfo> scorers_;
};

// Defines `void RegisterNAME(ScorerRegistry&)` for the scoring function NAME.
#define REGARD_SCORING_FUNCTION(name, formula) \
  void Register##name(ScorerRegistry& scorers) { scorers.Add<name>(formula); }

}  // namespace regard

#endif  // ATTENTION_SCORER_REGISTRY_H_
