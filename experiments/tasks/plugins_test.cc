#include "experiments/tasks/plugins.h"

#include "absl/status/statusor.h"
#include "data/data_source.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/plugins_test.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/config_problems.h"

namespace regard {
namespace {

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
                        "gives another type that is called text; data that "
                        "fits it: grammar, "));
  EXPECT_THAT(problems.problems()[0].message,
              HasSubstr("models that fit outside.[lab.letters]: none"));
}

}  // namespace
}  // namespace regard
