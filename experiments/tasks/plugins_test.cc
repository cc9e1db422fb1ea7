#include "experiments/tasks/plugins.h"

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/scoring_function.h"
#include "data/data_source.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/plugins_test.pb.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "optimization/evaluated_set.h"
#include "options/config_options.pb.h"
#include "options/config_problems.h"

namespace regard {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

// A data type with the same name as the built-in type.
struct Letters {
  static constexpr char kName[] = "text";
};

class LettersSource : public DataSource<Letters> {
 public:
  using Options = lab::LettersOptions;
  explicit LettersSource(const Options&) {}
  absl::StatusOr<Letters> Load(const DataRequest&) const override {
    return Letters();
  }
};

// Adds the path of each field of `type` that has a range, at any depth. Also
// adds a text that sets the field to a value outside of the range.
void AddOutOfRange(const google::protobuf::Descriptor& type,
                   const std::string& path, const std::string& before,
                   const std::string& after,
                   std::map<std::string, std::string>* texts) {
  using FieldDescriptor = google::protobuf::FieldDescriptor;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      AddOutOfRange(
          *field.message_type(),
          absl::StrCat(path, field.name(), field.is_repeated() ? "[0]." : "."),
          absl::StrCat(before, field.name(), " { "), absl::StrCat(" }", after),
          texts);
    } else if (field.options().HasExtension(range)) {
      const bool whole = field.cpp_type() != FieldDescriptor::CPPTYPE_DOUBLE;
      (*texts)[path + field.name()] = absl::StrCat(
          before, field.name(), whole ? ": -1000000000" : ": nan", after);
    }
  }
}

template <typename Info, typename... Context>
void ExpectRangesAreChecked(absl::Span<const Info> plugins,
                            const Context&... context) {
  for (const Info& plugin : plugins) {
    std::map<std::string, std::string> texts;
    AddOutOfRange(*plugin.default_options->GetDescriptor(), "", "", "", &texts);
    for (const auto& [path, text] : texts) {
      const std::unique_ptr<google::protobuf::Message> options(
          plugin.default_options->New());
      ASSERT_TRUE(
          google::protobuf::TextFormat::ParseFromString(text, options.get()));
      ConfigProblems problems;
      plugin.validate(*options, context..., problems);
      // The number of times that each message was added.
      std::map<std::string, int> times;
      for (const ConfigProblems::Problem& problem : problems.problems()) {
        if (problem.path == path) ++times[problem.message];
      }
      EXPECT_THAT(times, Contains(Pair(StartsWith("must be in "), 1)))
          << plugin.name << ": " << text;
    }
  }
}

// Compares the registered plug-ins with a file. For each task, the file lists
// the names in messages and reports, the data, the parts of the config, and
// whether a higher metric is better.
TEST(PluginsTest, AreAsInTheFile) {
  std::string text;
  const Plugins plugins = BuiltInPlugins();
  for (const TaskInfo& task : plugins.tasks.plugins()) {
    absl::StrAppend(&text, "## ", task.name, ": ", task.description, "\n",
                    task.searches ? "searches, " : "", "learns from ",
                    task.data, "\n");
    for (const char* part : task.model_fields) {
      absl::StrAppend(&text, "reads model.", part, "\n");
    }
    for (const MetricInfo& metric : task.metrics) {
      const char* const better = metric.better == Better::kLower    ? "lower"
                                 : metric.better == Better::kHigher ? "higher"
                                                                    : "?";
      absl::StrAppend(&text, metric.name, " (", metric.unit,
                      "): ", metric.meaning, "; ", better, " is better",
                      metric.logarithmic ? ", logarithmic\n" : "\n");
    }
    absl::StrAppend(&text, "\n");
  }
  for (const DataSourceInfo& source : plugins.data.plugins()) {
    const DataPathRequirement path = source.path(*source.default_options);
    absl::StrAppend(
        &text, "## ", source.name, ": ", source.description, "\ngives ",
        source.data, "; data.path is ",
        path == DataPathRequirement::kRequired   ? "required"
        : path == DataPathRequirement::kOptional ? "optional"
        : path == DataPathRequirement::kIgnored  ? "ignored"
                                                 : "refused",
        source.reads_dev_path ? ", data.dev_path is read\n\n" : "\n\n");
  }
  EXPECT_EQ(text, ReadFile("experiments/tasks/testdata/plugins.txt").value());
}

// Each plug-in must check each range exactly once. A plug-in with its own
// Validate() could forget a range, or report it twice.
TEST(PluginsTest, AllCheckTheRangesOfTheirOptions) {
  const Plugins plugins = BuiltInPlugins();
  const ScoreWidths widths = {.heads = 1, .query = 4, .key = 4};
  ExpectRangesAreChecked(plugins.scorers.plugins(), widths);
  ExpectRangesAreChecked(plugins.scorers.normalizers.plugins(), widths);
  ExpectRangesAreChecked(plugins.scorers.position_encodings.plugins(), widths);
  ExpectRangesAreChecked(plugins.scorers.score_maps.plugins(), widths);
  ExpectRangesAreChecked(plugins.scorers.selections.plugins(), widths);
  ExpectRangesAreChecked(plugins.scorers.head_outputs.plugins(),
                         HeadOutputWidths{.heads = 2, .value = 4, .input = 4});
  ExpectRangesAreChecked(plugins.optimizers.plugins());
  ExpectRangesAreChecked(plugins.schedules.plugins());
  ExpectRangesAreChecked(plugins.data.plugins());
}

TEST(PluginsTest, TypesOfDataAreNotComparedByName) {
  Plugins plugins = BuiltInPlugins();
  plugins.data.Add<LettersSource>("letters");
  Experiment config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "data { outside { [lab.letters] {} } }"
      "model { language_model { transformer { width: 8 layers: 1 } } }",
      &config));
  ConfigProblems problems;
  ValidateExperiment(config, plugins, problems);
  ASSERT_EQ(problems.problems().size(), 1);
  EXPECT_EQ(problems.problems()[0].path, "model.language_model");
  EXPECT_THAT(problems.problems()[0].message,
              HasSubstr("learns from text, but data.outside.[lab.letters] "
                        "provides another type that is called text. Data for "
                        "this model: grammar, "));
  EXPECT_THAT(problems.problems()[0].message,
              HasSubstr("Models for this data: none"));
}

}  // namespace
}  // namespace regard
