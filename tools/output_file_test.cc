#include "tools/output_file.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(OutputFileTest, IsNotAFileOfARun) {
  const std::string root = JoinPath(::testing::TempDir(), "output_file");
  const auto check = [&](const std::string& path) {
    return CheckOutputFile("--out", JoinPath(root, path),
                           {".json", ".safetensors"});
  };
  ASSERT_THAT(MakeDirectories(JoinPath(root, "run/x.json"), SystemFiles()),
              IsOk());
  // Accepted, because the folder is not a run yet.
  EXPECT_THAT(check("run/status.json"), IsOk());
  ASSERT_THAT(WriteFileAtomically(JoinPath(root, "run/run.json"), ""), IsOk());
  EXPECT_THAT(check("run/mine.json"), IsOk());
  ASSERT_THAT(
      MakeDirectories(JoinPath(root, "run/checkpoints/step-5"), SystemFiles()),
      IsOk());
  for (const auto& [path, problem] :
       {std::pair("run/status.json", "belongs to a run"),
        std::pair("run/checkpoints/step-5/weights.safetensors",
                  "belongs to a run"),
        std::pair("run/checkpoints/x.safetensors", "belongs to a run"),
        std::pair("run/x.json", "is not a regular file"),
        std::pair("nowhere/x.json", "does not exist; create it"),
        std::pair("run/x.png", "must end in .json or .safetensors")}) {
    EXPECT_THAT(check(path),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("error: --out="), HasSubstr(problem))))
        << path;
  }
}

}  // namespace
}  // namespace regard
