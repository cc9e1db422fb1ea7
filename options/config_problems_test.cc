#include "options/config_problems.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/dynamic_message.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "options/config_options.pb.h"
#include "options/test_config.pb.h"
#include "options/test_extension.pb.h"

namespace regard {
namespace {

using ::google::protobuf::FieldDescriptorProto;
using ::google::protobuf::FileDescriptorProto;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;

auto ProblemIs(const char* path, const char* message) {
  return AllOf(Field(&ConfigProblems::Problem::path, path),
               Field(&ConfigProblems::Problem::message, message));
}

TEST(ConfigProblemsTest, StartsWithoutProblems) {
  EXPECT_TRUE(ConfigProblems().ok());
}

TEST(ConfigProblemsTest, KeepsTheOrderOfProblems) {
  ConfigProblems problems;
  problems.Add("b", "first");
  problems.Add("a", "second");
  EXPECT_FALSE(problems.ok());
  EXPECT_THAT(problems.problems(),
              ElementsAre(ProblemIs("b", "first"), ProblemIs("a", "second")));
}

TEST(ConfigProblemsTest, NotesAreNotProblemsAndAppearOnce) {
  ConfigProblems problems;
  const ConfigProblems::Scope scope(problems, "training");
  problems.Note("average", "has no effect");
  problems.Note("", "of all");
  problems.Note("average", "has no effect");
  EXPECT_TRUE(problems.ok());
  EXPECT_THAT(problems.notes(), ElementsAre("training.average: has no effect",
                                            "training: of all"));
}

TEST(ConfigProblemsTest, ScopesNestAndEnd) {
  ConfigProblems problems;
  problems.Add("", "whole");
  {
    ConfigProblems::Scope model(problems, "model");
    {
      ConfigProblems::Scope layer(problems, "layers[1]");
      problems.Add("heads", "inner");
      problems.Add("", "layer");
    }
    ConfigProblems::Scope same(problems, "");
    problems.Add("outside.[lab.my_score].width", "outer");
  }
  problems.Add("seed", "top");
  EXPECT_THAT(
      problems.problems(),
      ElementsAre(ProblemIs("", "whole"),
                  ProblemIs("model.layers[1].heads", "inner"),
                  ProblemIs("model.layers[1]", "layer"),
                  ProblemIs("model.outside.[lab.my_score].width", "outer"),
                  ProblemIs("seed", "top")));
}

TEST(ConfigProblemsTest, RangesIncludeTheirEnds) {
  ConfigProblems problems;
  problems.RequireInRange("dropout", 0, 0, 1);
  problems.RequireInRange("dropout", 1, 0, 1);
  EXPECT_TRUE(problems.ok());
  problems.RequireInRange("dropout", 1.5, 0, 1);
  problems.RequireInRange("dropout", -0.25, 0, 1);
  problems.RequireInRange("dropout", std::nan(""), 0, 1);
  EXPECT_THAT(problems.problems(),
              ElementsAre(ProblemIs("dropout", "must be in [0, 1], got 1.5"),
                          ProblemIs("dropout", "must be in [0, 1], got -0.25"),
                          ProblemIs("dropout", "must be in [0, 1], got nan")));
}

TEST(ConfigProblemsTest, ValuesPrintAsTheyWereWritten) {
  ConfigProblems problems;
  problems.RequireInRange("rate", 0.3f, 0, 0.1);
  problems.RequireInRange("rate", 1.0000000001, 0, 1);
  problems.RequireInRange("points", 1000001, 2, 1000000);
  problems.RequireInRange("decay", 1e30, 1e-30, 123456789.5);
  EXPECT_THAT(
      problems.problems(),
      ElementsAre(
          ProblemIs("rate", "must be in [0, 0.1], got 0.3"),
          ProblemIs("rate", "must be in [0, 1], got 1.0000000001"),
          ProblemIs("points", "must be in [2, 1000000], got 1000001"),
          ProblemIs("decay", "must be in [1e-30, 123456789.5], got 1e+30")));
}

// Checks values of a field `x` that has a range.
class RangeTest : public ::testing::Test {
 protected:
  ConfigProblems Check(FieldDescriptorProto::Type type, const char* legal,
                       const std::string& text,
                       FieldDescriptorProto::Label label =
                           FieldDescriptorProto::LABEL_OPTIONAL) {
    FileDescriptorProto file;
    file.set_name("x.proto");
    google::protobuf::DescriptorProto& message = *file.add_message_type();
    message.set_name("Message");
    FieldDescriptorProto& field = *message.add_field();
    field.set_name("x");
    field.set_number(1);
    field.set_label(label);
    field.set_type(type);
    field.mutable_options()->SetExtension(range, legal);
    google::protobuf::DescriptorPool pool;
    google::protobuf::DynamicMessageFactory factory;
    const std::unique_ptr<google::protobuf::Message> options(
        factory.GetPrototype(pool.BuildFile(file)->message_type(0))->New());
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString(text, options.get()));
    ConfigProblems problems;
    problems.CheckRanges(*options);
    return problems;
  }
};

TEST_F(RangeTest, IncludesItsEnds) {
  for (const char* text : {"x: 0", "x: 0.5", "x: 1"}) {
    EXPECT_TRUE(Check(FieldDescriptorProto::TYPE_DOUBLE, "[0, 1]", text).ok());
  }
  for (const char* value : {"-1e-09", "1.5", "nan", "inf", "-inf"}) {
    EXPECT_THAT(
        Check(FieldDescriptorProto::TYPE_DOUBLE, "[0, 1]",
              absl::StrCat("x: ", value))
            .problems(),
        ElementsAre(ProblemIs(
            "x", absl::StrCat("must be in [0, 1], got ", value).c_str())));
  }
}

TEST_F(RangeTest, AnOpenRangeExcludesValuesThatRoundToItsEnd) {
  for (const char* text : {"x: 0", "x: 0.9999"}) {
    EXPECT_TRUE(Check(FieldDescriptorProto::TYPE_DOUBLE, "[0, 1)", text).ok());
  }
  for (const char* value : {"1", "0.9999999999", "-1e-09", "nan", "inf"}) {
    EXPECT_THAT(
        Check(FieldDescriptorProto::TYPE_DOUBLE, "[0, 1)",
              absl::StrCat("x: ", value))
            .problems(),
        ElementsAre(ProblemIs(
            "x", absl::StrCat("must be in [0, 1), got ", value).c_str())));
  }
}

TEST_F(RangeTest, IsOfNumbersOfEveryType) {
  for (const auto type :
       {FieldDescriptorProto::TYPE_INT32, FieldDescriptorProto::TYPE_INT64,
        FieldDescriptorProto::TYPE_UINT32, FieldDescriptorProto::TYPE_UINT64,
        FieldDescriptorProto::TYPE_FLOAT, FieldDescriptorProto::TYPE_DOUBLE}) {
    EXPECT_TRUE(Check(type, "[2, 1e6]", "x: 1000000").ok());
    EXPECT_THAT(
        Check(type, "[2, 1e6]", "x: 1000001").problems(),
        ElementsAre(ProblemIs("x", "must be in [2, 1000000], got 1000001")));
  }
  EXPECT_THAT(Check(FieldDescriptorProto::TYPE_INT64, "[-1, 1e12]",
                    "x: 9223372036854775807")
                  .problems(),
              ElementsAre(ProblemIs(
                  "x", "must be in [-1, 1000000000000], got 9.223372e+18")));
}

TEST_F(RangeTest, ADefaultOutsideOfItIsAProblem) {
  EXPECT_THAT(Check(FieldDescriptorProto::TYPE_INT32, "[1, 8]", "").problems(),
              ElementsAre(ProblemIs("x", "must be in [1, 8], got 0")));
}

TEST_F(RangeTest, IsAnIntervalOfOneNumber) {
  for (const char* legal :
       {"", "1", "(0, 1]", "[1, ]", "[1; 2]", "[1, 2, 3]"}) {
    EXPECT_DEATH(Check(FieldDescriptorProto::TYPE_INT32, legal, ""),
                 "Message.x: a range is of one number");
  }
  EXPECT_DEATH(Check(FieldDescriptorProto::TYPE_INT32, "[0, 1]", "",
                     FieldDescriptorProto::LABEL_REPEATED),
               "Message.x: a range is of one number");
}

testing::TestConfig OutOfRangeAtEveryDepth() {
  testing::TestConfig config;
  config.mutable_sgd()->set_momentum(2);
  testing::TestModel& model = *config.mutable_model();
  model.add_layers();
  model.add_layers()->set_heads(0);
  model.mutable_outside()->MutableExtension(lab::my_score)->set_width(-1);
  return config;
}

TEST_F(RangeTest, IsCheckedInAllSetMessages) {
  ConfigProblems problems;
  const ConfigProblems::Scope scope(problems, "experiment");
  problems.CheckRanges(OutOfRangeAtEveryDepth(), "one");
  EXPECT_THAT(
      problems.problems(),
      ElementsAre(ProblemIs("experiment.one.model.layers[1].heads",
                            "must be in [1, 64], got 0"),
                  ProblemIs("experiment.one.model.outside.[lab.my_score].width",
                            "must be in [0, 1024], got -1"),
                  ProblemIs("experiment.one.sgd.momentum",
                            "must be in [0, 1], got 2")));
}

TEST_F(RangeTest, CanCheckOnlyTheMessageItself) {
  const testing::TestConfig config = OutOfRangeAtEveryDepth();
  ConfigProblems problems;
  problems.CheckOwnRanges(config);
  problems.CheckOwnRanges(config.model());
  EXPECT_TRUE(problems.ok());
  problems.CheckOwnRanges(config.sgd(), "sgd");
  EXPECT_THAT(
      problems.problems(),
      ElementsAre(ProblemIs("sgd.momentum", "must be in [0, 1], got 2")));
}

TEST(ConfigProblemsTest, APartOfAStringIsKept) {
  ConfigProblems problems;
  const ConfigProblems::Scope scope(problems, "formula");
  problems.AddWithin("score", {3, 2}, "is wrong");
  problems.Add("width", "is wrong");
  EXPECT_THAT(problems.problems(),
              ElementsAre(ProblemIs("formula.score", "is wrong"),
                          ProblemIs("formula.width", "is wrong")));
  EXPECT_EQ(problems.problems()[0].within.begin, 3u);
  EXPECT_EQ(problems.problems()[0].within.length, 2u);
  EXPECT_EQ(problems.problems()[1].within.length, 0u);
}

TEST(ConfigProblemsTest, PositiveIsAboveZeroAndFinite) {
  ConfigProblems problems;
  problems.RequirePositive("width", 1e-30);
  EXPECT_TRUE(problems.ok());
  problems.RequirePositive("width", 0);
  problems.RequirePositive("width", std::nan(""));
  problems.RequirePositive("width", std::numeric_limits<double>::infinity());
  EXPECT_THAT(problems.problems(),
              ElementsAre(ProblemIs("width", "must be positive, got 0"),
                          ProblemIs("width", "must be positive, got nan"),
                          ProblemIs("width", "must be positive, got inf")));
}

}  // namespace
}  // namespace regard
