#include "experiments/build_task.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "experiments/data/phrasebook.h"
#include "experiments/nadaraya_watson_task.h"
#include "experiments/translation_task.h"
#include "nn/optimizer_registry.h"
#include "nn/optimizer_validation.h"
#include "nn/optimizers/built_in_optimizers.h"
#include "nn/schedule_registry.h"
#include "nn/schedules/built_in_schedules.h"
#include "seq2seq/search/search_validation.h"
#include "seq2seq/seq2seq_validation.h"

namespace regard {

namespace {

using FieldScope = ConfigProblems::Scope;

void ValidateName(const Experiment& config, ConfigProblems& problems) {
  const std::string& name = config.name();
  const bool plain = !name.empty() && name.size() <= 100 &&
                     std::all_of(name.begin(), name.end(), [](unsigned char c) {
                       return std::isalnum(c) != 0 || c == '-' || c == '_';
                     });
  if (!plain) {
    problems.Add("name",
                 "must be 1 to 100 letters, digits, '-' and '_': it names the "
                 "run folder");
  }
}

void ValidateData(const Experiment& config, ConfigProblems& problems) {
  const FieldScope scope(problems, "data");
  const Data& data = config.data();
  if (data.has_path() && !data.has_pairs()) {
    problems.Add("path", "this data is generated; only `pairs` reads a file");
  }
  const auto counts = [&](absl::string_view source, const auto& options) {
    const FieldScope inner(problems, source);
    problems.RequireInRange("train", options.train(), 1, 1e6);
    problems.RequireInRange("dev", options.dev(), 0, 1e6);
    problems.RequireInRange("test", options.test(), 1, 1e6);
  };
  switch (data.source_case()) {
    case Data::kPhrasebook: {
      const FieldScope inner(problems, "phrasebook");
      const PhrasebookConfig& sizes = data.phrasebook();
      // The other splits use words of train alone.
      problems.RequireInRange("train", sizes.train(), kMinPhrasebookTrain, 1e6);
      const double largest =
          std::min(1e6, 1.0 * kMaxPhrasebookRatio *
                            std::max(sizes.train(), kMinPhrasebookTrain));
      problems.RequireInRange("dev", sizes.dev(), 0, largest);
      problems.RequireInRange("test", sizes.test(), 1, largest);
      problems.RequireInRange("test_apart", sizes.test_apart(), 1, largest);
      break;
    }
    case Data::kReverse: {
      counts("reverse", data.reverse());
      const FieldScope inner(problems, "reverse");
      problems.RequireInRange("symbols", data.reverse().symbols(), 1, 1e5);
      problems.RequireInRange("max_length", data.reverse().max_length(), 1,
                              1e4);
      problems.RequireInRange("max_test_length",
                              data.reverse().max_test_length(), 1, 1e4);
      break;
    }
    case Data::kCopy: {
      counts("copy", data.copy());
      const FieldScope inner(problems, "copy");
      problems.RequireInRange("symbols", data.copy().symbols(), 1, 1e5);
      problems.RequireInRange("min_length", data.copy().min_length(), 1, 1e4);
      problems.RequireInRange("max_length", data.copy().max_length(),
                              data.copy().min_length(), 1e4);
      break;
    }
    case Data::kPairs: {
      if (!data.has_path()) {
        problems.Add("",
                     "`pairs` reads a corpus file: give data.path, in the "
                     "config or by --set data.path=FILE");
      }
      const FieldScope inner(problems, "pairs");
      const PairsConfig& pairs = data.pairs();
      problems.RequireInRange("source_column", pairs.source_column(), 0, 63);
      problems.RequireInRange("target_column", pairs.target_column(), 0, 63);
      problems.RequireInRange("max_pairs",
                              static_cast<double>(pairs.max_pairs()), 0, 1e9);
      problems.RequireInRange("min_frequency", pairs.min_frequency(), 1, 1e6);
      problems.RequireInRange("num_steps", pairs.num_steps(), 0, 1e4);
      problems.RequireInRange(
          "dev_pairs", static_cast<double>(pairs.dev_pairs()), 0,
          pairs.max_pairs() > 0 ? static_cast<double>(pairs.max_pairs() - 1)
                                : 1e9);
      break;
    }
    case Data::kNadarayaWatson: {
      const FieldScope inner(problems, "nadaraya_watson");
      problems.RequireInRange("points", data.nadaraya_watson().points(), 2,
                              1e5);
      problems.RequireInRange("noise", data.nadaraya_watson().noise(), 0, 100);
      problems.RequireInRange("exponent", data.nadaraya_watson().exponent(), 0,
                              10);
      break;
    }
    case Data::SOURCE_NOT_SET:
      problems.Add("",
                   "no data is chosen; give one, as in data { phrasebook {} }");
  }
}

void ValidateModel(const Experiment& config, const ScorerRegistry& scorers,
                   ConfigProblems& problems) {
  const FieldScope scope(problems, "model");
  const ModelConfig& model = config.model();
  const bool regression_data = config.data().has_nadaraya_watson();
  if (model.has_nadaraya_watson()) {
    for (const auto& [name, present] :
         {std::pair<const char*, bool>{"encoder", model.has_encoder()},
          {"decoder", model.has_decoder()}}) {
      if (present) {
        problems.Add(name,
                     "a model is either nadaraya_watson, or encoder and "
                     "decoder");
      }
    }
    if (!regression_data &&
        config.data().source_case() != Data::SOURCE_NOT_SET) {
      problems.Add("nadaraya_watson",
                   "regression needs data { nadaraya_watson {} }");
    }
    const FieldScope attention(problems, "attention");
    if (model.attention().dropout() > 0) {
      problems.Add("dropout", "regression by attention drops no weights");
    }
    scorers.Validate(model.attention(), {.heads = 1, .query = 1, .key = 1},
                     problems);
    return;
  }
  if (!model.has_encoder() || !model.has_decoder()) {
    problems.Add("", "give either nadaraya_watson, or encoder and decoder");
    return;
  }
  if (regression_data) {
    problems.Add("",
                 "this data is for regression: model { nadaraya_watson {} }");
  }
  ValidateSeq2Seq(model.encoder(), model.decoder(),
                  model.has_attention() ? &model.attention() : nullptr, scorers,
                  problems);
}

}  // namespace

void ValidateExperiment(const Experiment& config, const ScorerRegistry& scorers,
                        ConfigProblems& problems) {
  ValidateName(config, problems);
  {
    const FieldScope scope(problems, "search");
    ValidateSearch(config.search(), problems);
    if (config.has_search() && config.model().has_nadaraya_watson()) {
      problems.Add("", "regression searches for nothing");
    }
  }
  problems.RequireInRange("num_shards", config.num_shards(), 1, 64);
  ValidateData(config, problems);
  ValidateModel(config, scorers, problems);
  {
    const FieldScope scope(problems, "loss");
    if (config.loss().normalizer() == Loss::NORMALIZER_UNSPECIFIED) {
      problems.Add("normalizer", "must be PER_TOKEN, PER_SEQUENCE or SUM");
    }
    problems.RequirePositive("scale", config.loss().scale());
    problems.RequireInRange("label_smoothing", config.loss().label_smoothing(),
                            0, 0.999);
  }
  {
    const FieldScope scope(problems, "optimizer");
    OptimizerRegistry optimizers;
    RegisterBuiltInOptimizers(optimizers);
    ScheduleRegistry schedules;
    RegisterBuiltInSchedules(schedules);
    ValidateOptimizer(config.optimizer(), optimizers, schedules, problems);
  }
  if (config.has_baseline()) {
    const FieldScope scope(problems, "baseline");
    if (config.baseline().override_size() == 0) {
      problems.Add("",
                   "change something: override { path: \"...\" value: "
                   "\"...\" }");
    }
  }
  const FieldScope scope(problems, "training");
  const Training& training = config.training();
  problems.RequireInRange("epochs", training.epochs(), 0, 1e6);
  problems.RequireInRange("batch_size", training.batch_size(), 1, 1e6);
  problems.RequireInRange("examples_per_epoch",
                          static_cast<double>(training.examples_per_epoch()), 0,
                          1e12);
  problems.RequireInRange("log_every",
                          static_cast<double>(training.log_every()), 0, 1e12);
  problems.RequireInRange("evaluate_every", training.evaluate_every(), 0, 1e6);
  problems.RequireInRange("checkpoint_every",
                          static_cast<double>(training.checkpoint_every()), 0,
                          1e12);
  problems.RequireInRange("keep_checkpoints", training.keep_checkpoints(), 1,
                          1000);
}

absl::StatusOr<std::unique_ptr<Task>> BuildTask(const Experiment& config,
                                                const ScorerRegistry& scorers) {
  if (config.model().has_nadaraya_watson()) {
    return MakeNadarayaWatsonTask(config, scorers);
  }
  return MakeTranslationTask(config, scorers);
}

}  // namespace regard
