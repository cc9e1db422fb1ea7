#include "attention/testing/head_output_test_body.h"

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "attention/checks/expectations.h"
#include "attention/testing/case_name.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"

namespace regard {

std::string HeadOutputTest::Name(
    const ::testing::TestParamInfo<ParamType>& info) {
  const auto& [tested, check] = info.param;
  return absl::StrCat(check.name, "_", CaseName(tested.options),
                      tested.is_plain ? "_plain" : "");
}

TEST_P(HeadOutputTest, Holds) {
  const auto& [tested, check] = GetParam();
  HeadOutputRegistry registry;
  tested.register_output(registry);
  ASSERT_EQ(registry.plugins().size(), 1u);
  const HeadOutputInfo& info = registry.plugins()[0];
  const std::unique_ptr<google::protobuf::Message> options(
      info.default_options->New());
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(tested.options,
                                                            options.get()))
      << "options: " << tested.options;
  const std::optional<HeadOutputWidths> widths = TestWidths(info, *options);
  ASSERT_TRUE(widths.has_value()) << "invalid options: " << tested.options;
  Expectations expect;
  check.run({registry, info, *options, *widths, tested.is_plain}, expect);
  for (const std::string& failure : expect.failures()) {
    ADD_FAILURE() << failure << "\nwith the options {" << tested.options << "}";
  }
  if (!expect.skipped().empty()) GTEST_SKIP() << expect.skipped();
}

}  // namespace regard
