#include "experiments/comparison/run_list.h"

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "experiments/ablation/grid.h"
#include "experiments/run/metric.h"
#include "experiments/run/status.h"
#include "files/file.h"
#include "files/json_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Not;
using testing::StatusIs;

ComparedRun RunOf(const std::string& label, const std::string& width,
                  double accuracy) {
  return {.label = label,
          .status = {.state = RunState::kFinished,
                     .step = 7,
                     .metrics = {{"test/accuracy", accuracy},
                                 {"dev/accuracy", 0.25},
                                 {"train/loss", 2}}},
          .metric_infos = {{"accuracy", "", "right", Better::kHigher}},
          .config = {{"name", label}, {"seed", "1"}, {"width", width}}};
}

std::vector<std::string> Labels(const std::vector<ComparedRun>& runs) {
  std::vector<std::string> labels;
  for (const ComparedRun& run : runs) labels.push_back(run.label);
  return labels;
}

TEST(RunListTest, ListsDifferencesFromTheMostTypicalRun) {
  const std::vector<ComparedRun> runs = {
      RunOf("a", "64", 0.5), RunOf("b", "32", 0.75), RunOf("c", "32", 0.25),
      ComparedRun{.label = "d", .missing = "no status"}};
  EXPECT_EQ(TypicalRun(runs), 1);
  EXPECT_EQ(RunListText(runs, ""),
            "run  state       step  test/accuracy  differences from b\n"
            "a    finished    7     0.5            width=64\n"
            "b    finished    7     0.75\n"
            "c    finished    7     0.25\n"
            "d    unreadable                       no status\n");
  EXPECT_THAT(RunListText(runs, "train/loss"),
              HasSubstr("step  train/loss  test/accuracy"));
  EXPECT_EQ(JsonText(RunListJson({runs[0], runs[1], runs[2]})["runs"][0]),
            R"({"run":"a","state":"finished","step":7,)"
            R"("differences":{"width":"64"},"metrics":{"dev/accuracy":0.25,)"
            R"("test/accuracy":0.5,"train/loss":2},"weights_digest":""})");
}

TEST(RunListTest, KeepsTheRunsOfATag) {
  std::vector<ComparedRun> runs = {
      RunOf("a", "64", 0.5), RunOf("b", "32", 0.75), RunOf("c", "32", 0.25)};
  runs[0].config.push_back({"tags", "\"scores\""});
  runs[0].config.push_back({"tags", "\"old\""});
  runs[2].config.push_back({"tags", "\"old\""});
  EXPECT_THAT(FilterByTag("ol", &runs),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "error: --tag=ol: no run has this tag; did you mean "
                       "'old'?"));
  EXPECT_THAT(FilterByTag("old", &runs), IsOk());
  EXPECT_THAT(Labels(runs), ElementsAre("a", "c"));
}

TEST(RunListTest, NotesAndTagsAreNotDifferences) {
  ComparedRun noted = RunOf("b", "64", 0.5);
  noted.config.push_back({"note", "\"again\""});
  noted.config.push_back({"tags", "\"old\""});
  const std::vector<ComparedRun> runs = {RunOf("a", "64", 0.5), noted};
  EXPECT_THAT(RunListText(runs, ""), Not(HasSubstr("again")));
  EXPECT_EQ(RunListJson(runs)["runs"][1]["differences"].size(), 0);
}

TEST(RunListTest, LeavesOutDefaults) {
  ComparedRun recurrent = RunOf("a", "64", 0.5);
  ComparedRun transformer = recurrent;
  transformer.label = "b";
  recurrent.config = ParseResolvedFields(
                         "rate: 4  # default\n"
                         "width: 3  # default\n"
                         "gru {  # a:1\n"
                         "  hidden: 8  # a:2\n"
                         "}\n")
                         .value();
  transformer.config = ParseResolvedFields(
                           "rate: 4  # --set\n"
                           "width: 5  # --set\n"
                           "transformer {  # a:1\n"
                           "  layers: 6  # default\n"
                           "  heads: 2  # a:3\n"
                           "}\n")
                           .value();
  EXPECT_THAT(RunListText({recurrent, transformer}, ""),
              HasSubstr("gru=not set  transformer={heads: 2}  width=5\n"));
  // If the second run is the typical one, the default value must be shown as a
  // difference.
  EXPECT_THAT(RunListText({transformer, recurrent}, ""),
              HasSubstr("gru={hidden: 8}  transformer=not set  width=3\n"));
  // The JSON must contain all fields.
  EXPECT_EQ(RunListJson({recurrent,
                         transformer})["runs"][1]["differences"]["transformer"],
            "{layers: 6 heads: 2}");
}

TEST(RunListTest, CutsALongListOfDifferences) {
  const ComparedRun typical = RunOf("a", "64", 0.5);
  ComparedRun other = typical;
  other.label = "b";
  for (int i = 10; i < 50; ++i) {
    other.config.push_back({absl::StrCat("field_", i), "1"});
  }
  EXPECT_THAT(RunListText({typical, other}, ""),
              HasSubstr("field_33=1  and 16 more\n"));
}

TEST(RunListTest, ShowsTwoMetricsOfTestOrOfDev) {
  ComparedRun tested = RunOf("a", "64", 0.5);
  tested.metric_infos = {
      {"loss", "", ""}, {"bleu", "", ""}, {"accuracy", "", ""}};
  tested.status.metrics = {
      {"test/accuracy", 1}, {"test/bleu", 2}, {"test/loss", 3}};
  ComparedRun untested = tested;
  untested.label = "b";
  untested.status.metrics = {{"dev/accuracy", 4}, {"train/loss", 5}};
  EXPECT_EQ(RunListText({tested, untested}, ""),
            "run  state     step  test/loss  test/bleu  dev/accuracy  "
            "differences from a\n"
            "a    finished  7     3          2          -\n"
            "b    finished  7     -          -          4\n");
  EXPECT_EQ(RunListText({untested}, ""),
            "run  state     step  dev/accuracy\n"
            "b    finished  7     4\n");
}

TEST(RunListTest, ShowsTwoMetricsOfEachTestWithAName) {
  ComparedRun run = RunOf("a", "64", 0.5);
  run.metric_infos = {{"loss", "", ""}, {"bleu", "", ""}, {"chrf", "", ""}};
  for (const char* name :
       {"test.first/bleu", "test.first/chrf", "test.second/chrf",
        "test.second/loss", "test.second/bleu", "dev/loss"}) {
    run.status.metrics[name] = 1;
  }
  EXPECT_THAT(RunListText({run}, ""),
              HasSubstr("step  test.second/loss  test.first/bleu  "
                        "test.second/bleu\n"));
}

TEST(RunListTest, TheFirstOfSeveralRunsIsTypical) {
  const ComparedRun a = RunOf("a", "64", 0.5);
  const ComparedRun b = RunOf("b", "32", 0.5);
  const ComparedRun none = {.label = "n", .missing = "no status"};
  EXPECT_EQ(TypicalRun({a, b}), 0);
  EXPECT_EQ(TypicalRun({none, a, b}), 1);
  EXPECT_EQ(TypicalRun({none}), 0);
  EXPECT_EQ(JsonText(RunListJson({none, a})),
            R"({"typical":"a","runs":[{"run":"n","unreadable":"no status"},)"
            R"({"run":"a","state":"finished","step":7,"differences":{},)"
            R"("metrics":{"dev/accuracy":0.25,"test/accuracy":0.5,)"
            R"("train/loss":2},"weights_digest":""}]})");
}

TEST(RunListTest, SortsTheBestFirstInEitherDirection) {
  std::vector<ComparedRun> runs = {RunOf("a", "64", 0.5),
                                   ComparedRun{.label = "none"},
                                   RunOf("b", "32", 0.75)};
  runs[0].status.metrics["train/loss"] = 1;
  ASSERT_THAT(SortByMetric("test/accuracy", &runs), IsOk());
  EXPECT_THAT(Labels(runs), ElementsAre("b", "a", "none"));
  ASSERT_THAT(SortByMetric("train/loss", &runs), IsOk());
  EXPECT_THAT(Labels(runs), ElementsAre("a", "b", "none"));
  EXPECT_THAT(SortByMetric("test/acuracy", &runs),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("did you mean 'test/accuracy'?")));
}

TEST(RunListTest, FindsRunsAtAnyDepth) {
  const std::string folder = JoinPath(::testing::TempDir(), "found");
  for (const char* run :
       {"b", "a/deep", "b/baseline", "b/checkpoints/c", "b/tensorboard/t"}) {
    const std::string path = JoinPath(folder, run);
    std::filesystem::create_directories(path);
    ASSERT_THAT(
        WriteFileAtomically(JoinPath(path, "resolved.textproto"), "seed: 1\n"),
        IsOk());
    ASSERT_THAT(
        WriteFileAtomically(JoinPath(path, "run.json"), RunDescriptionJson({})),
        IsOk());
  }
  ASSERT_THAT(WriteStatus(JoinPath(folder, "b"), {.step = 3}), IsOk());
  // The malformed file must have no effect, because the list does not read
  // examples.
  ASSERT_THAT(
      WriteFileAtomically(JoinPath(folder, "b/examples.jsonl"), "no JSON\n"),
      IsOk());
  const std::vector<ComparedRun> runs = FindRuns(folder).value();
  EXPECT_THAT(Labels(runs), ElementsAre("a/deep", "b", "b/baseline"));
  EXPECT_THAT(runs[0].missing, HasSubstr("status.json"));
  EXPECT_EQ(runs[1].missing, "");
  EXPECT_EQ(runs[1].status.step, 3);
  EXPECT_THAT(Labels(FindRuns(JoinPath(folder, "a/deep")).value()),
              ElementsAre("."));
  EXPECT_THAT(FindRuns(JoinPath(folder, "nowhere")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nowhere")));
  // A link to a run must be listed, but folders below it must not be listed.
  std::filesystem::create_directories(JoinPath(folder, "links"));
  std::filesystem::create_directory_symlink("../b",
                                            JoinPath(folder, "links/linked"));
  std::filesystem::create_directory_symlink("..", JoinPath(folder, "links/up"));
  // The link to the latest run must be skipped, because the run itself is
  // listed.
  std::filesystem::create_directory_symlink("../b",
                                            JoinPath(folder, "links/latest"));
  EXPECT_THAT(Labels(FindRuns(JoinPath(folder, "links")).value()),
              ElementsAre("linked"));
  std::filesystem::create_directories(JoinPath(folder, "empty"));
  EXPECT_THAT(FindRuns(JoinPath(folder, "empty")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("contains no run")));
}

// Opening a folder with the name "private" fails. Permissions would not
// suffice, because they do not restrict root.
class PrivateFolders : public FileOperations {
 public:
  int Open(const std::string& path, int flags) override {
    if (!absl::EndsWith(path, "private")) {
      return FileOperations::Open(path, flags);
    }
    errno = EACCES;
    return -1;
  }
};

TEST(RunListTest, ReportsUnreadableFolders) {
  const std::string folder = JoinPath(::testing::TempDir(), "shared");
  std::filesystem::create_directories(JoinPath(folder, "a/private"));
  PrivateFolders files;
  const std::vector<ComparedRun> runs = FindRuns(folder, files).value();
  EXPECT_THAT(Labels(runs), ElementsAre("a/private"));
  EXPECT_THAT(runs[0].missing, HasSubstr("cannot list: Permission denied"));
  EXPECT_THAT(
      FindRuns(JoinPath(folder, "a/private"), files),
      StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("error: ")));
}

}  // namespace
}  // namespace regard
