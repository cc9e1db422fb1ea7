#include "experiments/report/end_of_run.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(EndOfRunTextTest, LooksAsDocumented) {
  const EndOfRun run = {
      .metrics = {{"test/exact_match", 0.9871, "without attention: 0.412"},
                  {"test/charm", 12}},
      .samples = {{"they are watching .", "ils regardent .", "ils regardent .",
                   true},
                  {"a cat .", "un chat .", "le chat .", false}},
      .alignment = LabelledMatrix{.rows = {"un", "chat"},
                                  .columns = {"a", "cat"},
                                  .heads = {{0.9, 0.1, 0.0, 1.0}}},
      .run_path = "runs/1",
      .report_path = "runs/1/report.html"};
  EXPECT_EQ(EndOfRunText(run, {.width = 80, .unicode = false}),
            "Final numbers\n"
            "  test/exact_match  0.9871  share of sentences translated word "
            "for word\n"
            "                            without attention: 0.412\n"
            "  test/charm            12\n"
            "\n"
            "Translations\n"
            "  they are watching .\n"
            "    model      ils regardent .\n"
            "  a cat .\n"
            "    model      le chat .\n"
            "    reference  un chat .\n"
            "\n"
            "Attention: each word on the left looks at the words above\n"
            "     a cat\n"
            "  un # ...\n"
            "chat   ###\n"
            "\n"
            "Run     runs/1\n"
            "Report  runs/1/report.html\n");
}

TEST(EndOfRunTextTest, LeavesOutWhatIsEmpty) {
  EXPECT_EQ(EndOfRunText({}, {}), "");
  EXPECT_EQ(EndOfRunText({.run_path = "runs/1"}, {}), "Run     runs/1\n");
}

TEST(EndOfRunTextTest, WrapsExplanationsBesideTheNumber) {
  const EndOfRun run = {.metrics = {{"test/exact_match", 0.5}}};
  EXPECT_EQ(EndOfRunText(run, {.width = 52}),
            "Final numbers\n"
            "  test/exact_match  0.5  share of sentences\n"
            "                         translated word for word\n");
}

TEST(EndOfRunTextTest, NeverObeysText) {
  const EndOfRun run = {.metrics = {{"a\x1b[2J", 1, "b\x1b[2J"}},
                        .samples = {{"c\x1b]0;", "d\x1b", "e\x1b", false}},
                        .run_path = "f\x1b"};
  EXPECT_THAT(EndOfRunText(run, {}), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace regard
