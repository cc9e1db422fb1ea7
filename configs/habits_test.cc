// Tries overrides that users add to a shipped config for a quick experiment.
// Each override must either work, with a note if it has no effect, or be listed
// in refused_habits.txt. That file gives the reason for each rejection.
#include <any>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "gtest/gtest.h"
#include "options/config_problems.h"
#include "options/reader.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

using Overrides = std::vector<std::string>;

// Overrides for every config.
constexpr const char* kHabits[] = {
    "training.max_updates=5",
    "training.max_updates=1",
    "training.max_updates=0",
    "training.max_minutes=1",
    "training.epochs=0",
    "training.epochs=1",
    "training.epochs=1000",
    "training.batch_size=1",
    "training.batch_size=2",
    "training.batch_size=1024",
    "training.examples_per_epoch=10",
    "training.log_every=1",
    "training.evaluate_every=0",
    "training.evaluate_every=1000",
    "training.checkpoint_every=1",
    "training.keep_checkpoints=0",
    "training.keep_checkpoints=100",
    "training.group_by_length=true",
    "training.group_by_length=false",
    "training.batch_tokens=500",
    "training.length_step=4",
    "training.early_stopping={}",
    "training.early_stopping.patience=2",
    "training.early_stopping={metric: 'dev/loss' patience: 1}",
    "training.average=3",
    "training.ema_decay=0.9",
    "optimizer.learning_rate=0",
    "optimizer.learning_rate=1",
    "optimizer.learning_rate=1e-5",
    "optimizer.clip_norm=0",
    "optimizer.clip_norm=1",
    "optimizer.accumulate_batches=4",
    "optimizer.adam={}",
    "optimizer.adam.beta1=0",
    "optimizer.adamw.weight_decay=0",
    "optimizer.adamw={weight_decay: 0 decayed_parameters: MATRICES}",
    "optimizer.sgd={}",
    "optimizer.sgd.momentum=0.9",
    "optimizer.sgd.nesterov=true",
    "optimizer.schedule.constant={}",
    "optimizer.schedule.cosine.warmup=0",
    "optimizer.schedule.cosine.warmup=100000",
    "optimizer.schedule.cosine.updates=10",
    "optimizer.schedule.inverse_square_root={}",
    "optimizer.schedule.exponential={}",
    "optimizer.schedule.reduce_on_plateau={}",
    "search.beam=1",
    "search.beam=5",
    "search.n_best=1",
    "search.max_length=20",
    "search.sampling={}",
    "loss.label_smoothing=0",
    "loss.label_smoothing=0.1",
    "loss.normalizer=SUM",
    "loss.scale=2",
    "seed=0",
    "seed=2",
    "num_shards=1",
    "num_shards=8",
    "name=try",
    "baseline.override=[]",
};

// Overrides for configs of one kind of data or model.
const std::map<std::string, Overrides>& HabitsOf() {
  static const auto& habits = *new std::map<std::string, Overrides>{
      {"phrasebook",
       {"data.phrasebook.train=10", "data.phrasebook.train=200",
        "data.phrasebook.dev=0", "data.phrasebook.test=0",
        "data.phrasebook.reversed=true"}},
      {"reverse",
       {"data.reverse.train=10", "data.reverse.dev=0", "data.reverse.test=0",
        "data.reverse.max_length=5", "data.reverse.max_test_length=40"}},
      {"copy",
       {"data.copy.train=10", "data.copy.dev=0", "data.copy.test=0",
        "data.copy.max_length=15"}},
      {"pairs",
       {"data.pairs.max_pairs=50", "data.pairs.min_frequency=3",
        "data.pairs.cut_tokens=5", "data.pairs.dev_pairs=5",
        "data.pairs.dev_sample=5", "data.pairs.max_tokens=20"}},
      {"text", {"data.text.dev_fraction=0", "data.text.test_fraction=0.1"}},
      {"grammar",
       {"data.grammar.train=10", "data.grammar.dev=0", "data.grammar.test=0"}},
      {"table",
       {"data.table.dev_fraction=0", "data.table.test_fraction=0",
        "data.table.shuffle=false"}},
      {"nadaraya_watson_data",
       {"data.nadaraya_watson.points=10", "data.nadaraya_watson.noise=0"}},
      {"grammaticality",
       {"data.grammaticality.train=10", "data.grammaticality.dev=0",
        "data.grammaticality.test=0"}},
      {"entailment",
       {"data.entailment.train=10", "data.entailment.dev=0",
        "data.entailment.test=0"}},
      {"repeated_tokens",
       {"data.repeated_tokens.train=10", "data.repeated_tokens.dev=0",
        "data.repeated_tokens.symbols=10"}},
      {"shapes",
       {"data.shapes.train=10", "data.shapes.dev=0", "data.shapes.test=0",
        "data.shapes.size=14"}},
      {"captions",
       {"data.captions.train=10", "data.captions.dev=0",
        "data.captions.test=0"}},
      {"decoder",
       {"model.encoder.layers=1", "model.encoder.hidden=32",
        "model.encoder.bidirectional=false", "model.encoder.dropout=0.1",
        "model.decoder.hidden=32", "model.decoder.dropout=0",
        "model.encoder.cell=LSTM", "model.decoder.context=LAST_STATE",
        "model.decoder.context=NO_CONTEXT",
        "model.decoder.initial_state=PROJECTED",
        "model.decoder.initial_state=ZERO", "model.decoder.input_feeding=true",
        "model.decoder.scheduled_sampling={updates: 100}",
        "model.attention={dot {}}", "model.attention={additive {}}",
        "model.attention={average {}}", "model.attention.dropout=0.1",
        "model.attention={formula {score: 'q . (W k) / sqrt(d)'}}"}},
      {"transformer",
       {"model.transformer.layers=1", "model.transformer.width=32",
        "model.transformer.dropout=0", "model.transformer.attention.heads=1",
        "model.transformer.attention.heads=3",
        "model.transformer.attention.attention={dot {}}",
        "model.transformer.attention.attention={formula {score: 'q . k'}}",
        "model.transformer.feed_forward={none {}}",
        "model.transformer.norm_order=PRE", "model.alignment.layer=0",
        "model.transformer.initialization.scale_residual=true"}},
      {"language_model",
       {"model.language_model.transformer.layers=1",
        "model.language_model.transformer.width=32",
        "model.language_model.transformer.attention.heads=1",
        "model.language_model.transformer.dropout=0.1",
        "model.language_model.block=16", "model.language_model.block=1024",
        "model.language_model.stride=8", "model.language_model.unit=WORDS",
        "model.language_model.unit=CHARACTERS",
        "model.language_model.examples=LINES",
        "model.language_model.examples=BLOCKS",
        "model.language_model.min_frequency=2",
        "model.language_model.prefix_matching=true"}},
      {"bert",
       {"model.bert.transformer.layers=1", "model.bert.transformer.width=32",
        "model.bert.transformer.dropout=0", "model.bert.masked_words.block=16",
        "model.bert.masked_words.share=0.3",
        "model.bert.masked_words.whole_words=true",
        "model.bert.masked_words.next_sentence_weight=0.5"}},
      {"text_classifier",
       {"model.text_classifier.bert.transformer.layers=1",
        "model.text_classifier.bert.transformer.dropout=0",
        "model.text_classifier.bert.masked_words.block=16",
        "model.text_classifier.pooling=MEAN"}},
      {"vision_transformer",
       {"model.vision_transformer.patch=2", "model.vision_transformer.patch=7",
        "model.vision_transformer.transformer.layers=1",
        "model.vision_transformer.transformer.attention.heads=1",
        "model.vision_transformer.transformer.dropout=0.1",
        "model.vision_transformer.augmentation.flip=false",
        "model.vision_transformer.pooling=MEAN"}},
      {"captioner",
       {"model.captioner.decoder.layers=1", "model.captioner.decoder.dropout=0",
        "model.captioner.cross_attention=false",
        "model.captioner.vision_transformer.transformer.layers=1"}},
      {"nadaraya_watson",
       {"model.attention={gaussian {}}", "model.attention={average {}}",
        "model.attention.dropout=0.1",
        "model.attention={formula {score: '-abs(w) * norm(q - k)'}}"}},
  };
  return habits;
}

class HabitsTest : public testing::Test {
 protected:
  HabitsTest() : folder_(absl::StrCat(testing::TempDir(), "/habits/")) {
    std::filesystem::create_directories(folder_);
    std::string source, target, pairs, table = "x,y,z\n";
    const char* const kWords[] = {"she", "he",    "dog",    "cat",  "sees",
                                  "a",   "house", "garden", "runs", "sleeps"};
    for (int i = 0; i < 300; ++i) {
      std::string line;
      for (int k = 0; k < 3 + i % 5; ++k) {
        absl::StrAppend(&line, kWords[(i * 7 + k * 3 + i / 10) % 10], i % 4,
                        " ");
      }
      line += ".";
      absl::StrAppend(&source, line, "\n");
      absl::StrAppend(&target, "the ", line, "\n");
      absl::StrAppend(&pairs, line, "\tthe ", line, "\n");
      absl::StrAppend(&table, i % 17, ",", i % 13, ",", i % 7, "\n");
    }
    Write("source", source);
    Write("target", target);
    Write("pairs.txt", pairs);
    Write("table.csv", table);
  }

  std::string Path(absl::string_view name) const {
    return absl::StrCat(folder_, name);
  }

  // Returns the settings that a user must supply before trying the config, and
  // small data sizes, which are generated quickly.
  Overrides SetupOf(const Experiment& config) const {
    Overrides setup;
    const auto set = [&setup](absl::string_view path, absl::string_view value) {
      setup.push_back(absl::StrCat(path, "=", value));
    };
    const auto sizes = [&set](absl::string_view source) {
      set(absl::StrCat("data.", source, ".train"), "100");
      set(absl::StrCat("data.", source, ".dev"), "20");
      set(absl::StrCat("data.", source, ".test"), "20");
    };
    const PairsConfig& pairs = config.data().pairs();
    // Configs that ablations extend lack the settings of an axis.
    if (config.data().data_source_case() == Data::DATA_SOURCE_NOT_SET) {
      set("data", "{reverse {}}");
      sizes("reverse");
    }
    if (config.model().model_case() == ModelConfig::MODEL_NOT_SET) {
      set("model", "{transformer {}}");
    }
    if (config.model().has_decoder() && !config.model().has_attention()) {
      set("model.attention", "{dot {}}");
    }
    if (pairs.has_train()) {
      Overrides splits = {"train"};
      if (pairs.has_dev()) splits.push_back("dev");
      if (pairs.test_size() > 0) splits.push_back("test");
      for (const std::string& split : splits) {
        set(absl::StrCat("data.pairs.", split, ".source"), Path("source"));
        set(absl::StrCat("data.pairs.", split, ".target"), Path("target"));
      }
      if (pairs.has_subwords()) {
        set("data.pairs.subwords.vocabulary_size", "40");
      }
      if (pairs.dev_sample() > 0) set("data.pairs.dev_sample", "20");
      if (pairs.max_pairs() > 0) set("data.pairs.max_pairs", "200");
    } else if (config.data().has_pairs()) {
      set("data.path", Path("pairs.txt"));
    }
    if (config.data().has_text()) set("data.path", Path("source"));
    if (config.data().has_table()) set("data.path", Path("table.csv"));
    if (config.data().has_phrasebook()) {
      sizes("phrasebook");
      set("data.phrasebook.test_unseen_pairs", "20");
    }
    if (config.data().has_reverse()) sizes("reverse");
    if (config.data().has_copy()) sizes("copy");
    if (config.data().has_grammar()) sizes("grammar");
    if (config.data().has_grammaticality()) sizes("grammaticality");
    if (config.data().has_entailment()) sizes("entailment");
    if (config.data().has_repeated_tokens()) sizes("repeated_tokens");
    if (config.data().has_shapes()) sizes("shapes");
    if (config.data().has_captions()) sizes("captions");
    if (config.training().has_initial_weights()) {
      set("training.initial_weights.run", "pretrained/testdata/bert");
    }
    return setup;
  }

 private:
  void Write(absl::string_view name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
  }

  const std::string folder_;
};

Overrides Habits(const Experiment& config) {
  Overrides habits(std::begin(kHabits), std::end(kHabits));
  const auto add = [&habits](const std::string& kind) {
    const auto found = HabitsOf().find(kind);
    if (found == HabitsOf().end()) return;
    habits.insert(habits.end(), found->second.begin(), found->second.end());
  };
  for (const auto* part :
       {static_cast<const google::protobuf::Message*>(&config.data()),
        static_cast<const google::protobuf::Message*>(&config.model())}) {
    const auto* field = part->GetReflection()->GetOneofFieldDescriptor(
        *part, part->GetDescriptor()->oneof_decl(0));
    if (field == nullptr) continue;
    std::string name(field->name());
    if (part == &config.data() && name == "nadaraya_watson") name += "_data";
    add(name);
  }
  return habits;
}

// Keeps loaded data, so that configs with equal data load it only once.
class DataCache {
 public:
  explicit DataCache(const Plugins& plugins) : plugins_(plugins) {}

  absl::StatusOr<std::any> Load(const Experiment& config) {
    const std::string key =
        absl::StrCat(config.seed(), " ", config.data().SerializeAsString());
    const auto found = loaded_.find(key);
    if (found != loaded_.end()) return found->second;
    return loaded_[key] =
               plugins_.data.Create(config.data())
                   ->LoadAny({.path = config.data().path(),
                              .dev_path = config.data().dev_path(),
                              .seed = config.seed(),
                              .text_version = config.data().text_version()});
  }

 private:
  const Plugins& plugins_;
  std::map<std::string, absl::StatusOr<std::any>> loaded_;
};

// Runs the checks of `train --check`, except hook points and initial values,
// which take long. Without a cache, the data is not read.
absl::Status Check(const std::string& path, const Overrides& overrides,
                   const Plugins& plugins, DataCache* cache) {
  REGARD_ASSIGN_OR_RETURN(LoadedConfig loaded,
                          LoadConfig({path, std::nullopt}, overrides, plugins));
  REGARD_RETURN_IF_ERROR(LoadBaseline(plugins, loaded));
  std::vector<const LoadedConfig*> runs = {&loaded};
  if (loaded.baseline != nullptr) runs.push_back(loaded.baseline.get());
  for (const LoadedConfig* run : runs) {
    if (cache == nullptr) continue;
    REGARD_ASSIGN_OR_RETURN(std::any data, cache->Load(run->config));
    const std::unique_ptr<Task> task = plugins.tasks.Create(
        run->config.model(), std::move(data),
        TaskContext{run->config, plugins.scorers, /*finalize=*/false});
    ConfigProblems problems;
    ValidateTask(*task, run->config, problems);
    ValidateWatchedMetrics(*task, run->config, plugins, problems);
    REGARD_RETURN_IF_ERROR(LocateProblems(problems, run->origins));
  }
  return absl::OkStatus();
}

// Returns the first line of an error, without its location.
std::string Refusal(const absl::Status& status) {
  const std::string line =
      std::vector<std::string>(absl::StrSplit(status.message(), '\n'))[0];
  const size_t error = line.find("error: ");
  return error == std::string::npos ? line : line.substr(error + 7);
}

TEST_F(HabitsTest, OverridesWorkOrAreListed) {
  const Plugins plugins = BuiltInPlugins();
  int tried = 0;
  int refused = 0;
  // The names of the configs, by override and reason.
  std::map<std::string, std::set<std::string>> refusals;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator("configs")) {
    const std::string path = entry.path().string();
    if (!absl::EndsWith(path, ".textproto")) continue;
    Experiment config;
    ASSERT_TRUE(ReadConfig({path, std::nullopt}, {}, &config).ok());
    const Overrides setup = SetupOf(config);
    ASSERT_TRUE(ReadConfig({path, std::nullopt}, setup, &config).ok());
    const bool has_data =
        !config.data().has_fashion_mnist() &&
        config.data().captions().things() != CaptionsConfig::FASHION_MNIST;
    DataCache cache(plugins);
    DataCache* const given = has_data ? &cache : nullptr;
    const absl::Status unchanged = Check(path, setup, plugins, given);
    EXPECT_TRUE(unchanged.ok()) << path << ": " << unchanged.message();
    const Overrides habits = Habits(config);
    EXPECT_GE(habits.size(), 50u);
    for (const std::string& habit : habits) {
      Overrides overrides = setup;
      overrides.push_back(habit);
      ++tried;
      const absl::Status status = Check(path, overrides, plugins, given);
      if (status.ok()) continue;
      ++refused;
      refusals[absl::StrCat(habit, ": ", Refusal(status))].insert(
          path.substr(8, path.size() - 18));
    }
  }
  std::set<std::string> found;
  for (const auto& [refusal, configs] : refusals) {
    found.insert(absl::StrCat(refusal, " [", absl::StrJoin(configs, " "), "]"));
  }
  std::printf("%d of %d are refused\n", refused, tried);
  std::set<std::string> listed;
  std::ifstream file("configs/refused_habits.txt");
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') listed.insert(line);
  }
  for (const std::string& line : found) {
    EXPECT_EQ(listed.count(line), 1u) << "not listed:\n" << line;
  }
  for (const std::string& line : listed) {
    EXPECT_EQ(found.count(line), 1u) << "no longer refused:\n" << line;
  }
}

}  // namespace
}  // namespace regard
