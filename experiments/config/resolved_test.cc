#include "experiments/config/resolved.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/config/diff.h"
#include "experiments/config/origins.h"
#include "experiments/config/reader.h"
#include "experiments/config/temporary_files.h"
#include "experiments/config/test_config.pb.h"
#include "experiments/config/test_extension.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::TestConfig;
using ::testing::IsEmpty;

class ResolvedConfigTest : public testing::TemporaryFiles {
 protected:
  ResolvedConfigTest() {
    lab::MyScore::default_instance();
    WriteFile("configs/base.textproto", "seed: 3\nmodel {\n  width: 8\n}\n");
    WriteFile("configs/a.textproto",
              "base: \"base.textproto\"\n"
              "data_path: \"caf\u00e9 \\\"1\\\"\"\n"
              "model {\n"
              "  layers { }\n"
              "  outside { [lab.my_score] { } [lab.lags]: [4, 5] }\n"
              "}\n"
              "sizes: [7]\n");
  }

  static std::string Resolve(TestConfig* config) {
    absl::StatusOr<ConfigOrigins> origins =
        ReadConfig({"configs/a.textproto", std::nullopt},
                   {"rate=0.3", "model.layers[0].heads=2"}, config);
    EXPECT_THAT(origins, IsOk());
    return origins.ok() ? ResolvedConfig(*config, *origins) : "";
  }
};

TEST_F(ResolvedConfigTest, SaysWhereEachValueCameFrom) {
  TestConfig config;
  EXPECT_EQ(Resolve(&config),
            R"(# proto-file: experiments/config/test_config.proto
# proto-message: regard.testing.TestConfig

seed: 3  # configs/base.textproto:1
# steps: 0  # not set
rate: 0.3  # --set
# tolerance: 0  # not set
shuffle: true  # default
data_path: "café \"1\""  # configs/a.textproto:2
task: TRANSLATION  # default
model {  # configs/a.textproto:3
  width: 8  # configs/base.textproto:3
  dropout: 0.1  # default
  layers {  # configs/a.textproto:4
    heads: 2  # --set
  }
  outside {  # configs/a.textproto:5
    [lab.my_score] {  # configs/a.textproto:5
      width: 16  # default
    }
    [lab.lags]: 4  # configs/a.textproto:5
    [lab.lags]: 5  # configs/a.textproto:5
  }
}
sizes: 7  # configs/a.textproto:7
# large: 0  # not set
# raw: ""  # not set
)");
}

TEST_F(ResolvedConfigTest, ReadsBackAsTheSameConfig) {
  TestConfig config;
  const std::string text = Resolve(&config);
  TestConfig again;
  const absl::StatusOr<ConfigOrigins> origins =
      ReadConfig({"resolved.textproto", text}, {}, &again);
  ASSERT_THAT(origins, IsOk());
  EXPECT_TRUE(
      google::protobuf::util::MessageDifferencer::Equivalent(config, again));
  EXPECT_THAT(DiffConfigs(config, again), IsEmpty());
}

TEST_F(ResolvedConfigTest, ResolvingTwiceChangesNoValue) {
  TestConfig config;
  const std::string text = Resolve(&config);
  TestConfig again;
  const absl::StatusOr<ConfigOrigins> origins =
      ReadConfig({"resolved.textproto", text}, {}, &again);
  ASSERT_THAT(origins, IsOk());
  TestConfig third;
  ASSERT_THAT(ReadConfig({"twice.textproto", ResolvedConfig(again, *origins)},
                         {}, &third),
              IsOk());
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(again, third));
}

}  // namespace
}  // namespace regard
