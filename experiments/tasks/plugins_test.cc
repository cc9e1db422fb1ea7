#include "experiments/tasks/plugins.h"

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
using ::testing::Field;
using ::testing::HasSubstr;

// Its name is that of the built-in type.
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

// Sets each field with a range to what is in none.
template <typename Info, typename... Context>
void ExpectRangesAreChecked(absl::Span<const Info> plugins,
                            const Context&... context) {
  for (const Info& plugin : plugins) {
    const google::protobuf::Descriptor& type =
        *plugin.default_options->GetDescriptor();
    for (int i = 0; i < type.field_count(); ++i) {
      const google::protobuf::FieldDescriptor& field = *type.field(i);
      if (!field.options().HasExtension(range)) continue;
      const std::unique_ptr<google::protobuf::Message> options(
          plugin.default_options->New());
      const bool whole =
          field.cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_DOUBLE;
      ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
          absl::StrCat(field.name(), whole ? ": -1000" : ": nan"),
          options.get()));
      ConfigProblems problems;
      plugin.validate(*options, context..., problems);
      EXPECT_THAT(problems.problems(),
                  Contains(Field(&ConfigProblems::Problem::path, field.name())))
          << plugin.name;
    }
  }
}

// What messages and reports say of tasks and data, and what follows from it:
// what their configs may have, and which way a metric is better.
TEST(PluginsTest, AreAsInTheFile) {
  std::string text;
  const Plugins plugins = BuiltInPlugins();
  for (const TaskInfo& task : plugins.tasks.plugins()) {
    absl::StrAppend(&text, "## ", task.name, ": ", task.description, "\n",
                    task.searches ? "searches, " : "", "learns from ",
                    task.data, "\n");
    for (const char* part : task.parts) {
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
    const DataPath path = source.path(*source.default_options);
    absl::StrAppend(
        &text, "## ", source.name, ": ", source.description, "\ngives ",
        source.data, "; data.path is ",
        path == DataPath::kRequired   ? "required"
        : path == DataPath::kOptional ? "optional"
        : path == DataPath::kIgnored  ? "ignored"
                                      : "refused",
        source.reads_dev_path ? ", data.dev_path is read\n\n" : "\n\n");
  }
  EXPECT_EQ(text, ReadFile("experiments/tasks/testdata/plugins.txt").value());
}

// A Validate() of their own may forget them.
TEST(PluginsTest, AllCheckTheRangesOfTheirOptions) {
  const Plugins plugins = BuiltInPlugins();
  const ScoreWidths widths = {.heads = 1, .query = 4, .key = 4};
  ExpectRangesAreChecked(plugins.scorers.plugins(), widths);
  ExpectRangesAreChecked(plugins.scorers.normalizers.plugins());
  ExpectRangesAreChecked(plugins.scorers.position_encodings.plugins(), widths);
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
