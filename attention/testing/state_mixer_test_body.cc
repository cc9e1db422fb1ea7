#include "attention/testing/state_mixer_test_body.h"

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "attention/checks/expectations.h"
#include "attention/testing/case_name.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "options/config_problems.h"

namespace regard {

namespace {

constexpr int64_t kWidth = 8;

}  // namespace

std::string StateMixerTest::Name(
    const ::testing::TestParamInfo<ParamType>& info) {
  const auto& [tested, check] = info.param;
  return absl::StrCat(check.name, "_", CaseName(tested.options));
}

TEST_P(StateMixerTest, Holds) {
  const auto& [tested, check] = GetParam();
  MixerRegistry registry;
  tested.register_mixer(registry);
  ASSERT_EQ(registry.plugins().size(), 1u);
  const auto& info = registry.plugins()[0];
  const std::unique_ptr<google::protobuf::Message> options(
      info.default_options->New());
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(tested.options,
                                                            options.get()))
      << "test_options: " << tested.options;
  ConfigProblems problems;
  info.validate(*options, kWidth, problems);
  for (const auto& problem : problems.problems()) {
    ADD_FAILURE() << "invalid test_options, " << problem.path << ": "
                  << problem.message;
  }
  if (!problems.problems().empty()) return;
  Expectations expect;
  check.run({registry, *options, kWidth}, expect);
  for (const std::string& failure : expect.failures()) {
    ADD_FAILURE() << failure << "\nwith the options {" << tested.options << "}";
  }
}

}  // namespace regard
