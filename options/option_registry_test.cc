#include "options/option_registry.h"

#include <cmath>
#include <memory>
#include <string>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "options/config_problems.h"
#include "options/option_registry_test.pb.h"

namespace regard::option_registry_test {
namespace {

class Curve {
 public:
  virtual ~Curve() = default;
  virtual double At(double x) const = 0;
  static void Validate(const auto& /*options*/, double /*largest*/,
                       ConfigProblems&) {}
};

struct CurveInfo : PluginInfo<double> {
  PluginFactory<Curve, double> create;
};

class CurveRegistry : public PluginRegistry<CurveConfig, CurveInfo> {
 public:
  explicit CurveRegistry(const google::protobuf::Message* fallback = nullptr)
      : PluginRegistry("curve_shape", "line { slope: 1 }", fallback) {}
};

class Line : public Curve {
 public:
  using Options = LineOptions;
  Line(const Options& options, double offset)
      : slope_(options.slope()), offset_(offset) {}
  static void Validate(const Options& options, double largest,
                       ConfigProblems& problems) {
    problems.RequireInRange("slope", options.slope(), 0, largest);
  }
  double At(double x) const override { return offset_ + slope_ * x; }

 private:
  double slope_, offset_;
};

class Power : public Curve {
 public:
  using Options = PowerOptions;
  Power(const Options& options, double offset)
      : exponent_(options.exponent()), offset_(offset) {}
  double At(double x) const override {
    return offset_ + std::pow(x, exponent_);
  }

 private:
  int exponent_;
  double offset_;
};

CurveConfig Parsed(const std::string& text) {
  CurveConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

CurveRegistry LineAndPower() {
  CurveRegistry registry;
  registry.Add<Power>("x^n");
  registry.Add<Line>("a x");
  return registry;
}

// Returns "PATH: MESSAGE" of the first problem, or "".
std::string Problem(const CurveRegistry& registry, const std::string& text) {
  ConfigProblems problems;
  registry.ValidateChoice(Parsed(text), problems, /*largest=*/5.0);
  EXPECT_LE(problems.problems().size(), 1u);
  if (problems.ok()) return "";
  return problems.problems()[0].path + ": " + problems.problems()[0].message;
}

TEST(OptionRegistryTest, FindsPlugInsByName) {
  const CurveRegistry registry = LineAndPower();
  ASSERT_EQ(registry.plugins().size(), 2u);
  EXPECT_EQ(registry.plugins()[0].name,
            "regard.option_registry_test.LineOptions");
  EXPECT_EQ(registry.plugins()[0].description, "a x");
  EXPECT_EQ(registry.plugins()[1].name,
            "regard.option_registry_test.PowerOptions");
  EXPECT_EQ(registry.Find(Parsed("line {}")), &registry.plugins()[0]);
  EXPECT_EQ(registry.Find(Parsed("step {}")), nullptr);
  EXPECT_EQ(registry.Find(Parsed("")), nullptr);
}

TEST(OptionRegistryTest, MakesTheConfiguredPlugIn) {
  const CurveRegistry registry = LineAndPower();
  EXPECT_EQ(registry.Create(Parsed("line {}"), 1)->At(3), 7);
  EXPECT_EQ(registry.Create(Parsed("line { slope: 4 }"), 1)->At(3), 13);
}

TEST(OptionRegistryTest, MakesAPlugInFromOutside) {
  const CurveRegistry registry = LineAndPower();
  const std::string text =
      "outside { [regard.option_registry_test.power] { exponent: 2 } }";
  EXPECT_EQ(Problem(registry, text), "");
  EXPECT_EQ(registry.Create(Parsed(text), 1)->At(3), 10);
}

TEST(OptionRegistryTest, ValidatesUnderThePathOfTheOptions) {
  EXPECT_EQ(Problem(LineAndPower(), "line { slope: 5 }"), "");
  EXPECT_EQ(Problem(LineAndPower(), "line { slope: 6 }"),
            "line.slope: must be in [0, 5], got 6");
}

TEST(OptionRegistryTest, SaysThatNothingIsChosen) {
  EXPECT_EQ(Problem(LineAndPower(), ""),
            ": has no curve shape; set one, such as line { slope: 1 }");
}

TEST(OptionRegistryTest, SaysThatOutsideHoldsOneExtension) {
  const std::string expected =
      "outside: `outside` must have exactly one curve shape, as in outside { "
      "[lab.my_curve_shape] {} }";
  EXPECT_EQ(Problem(LineAndPower(), "outside {}"), expected);
  EXPECT_EQ(Problem(LineAndPower(),
                    "outside { [regard.option_registry_test.power] {} "
                    "[regard.option_registry_test.other_step] {} }"),
            expected);
}

TEST(OptionRegistryTest, ReportsPlugInsThatAreNotLinked) {
  const std::string known =
      "regard.option_registry_test.StepOptions is not linked into this "
      "program, which has regard.option_registry_test.LineOptions, "
      "regard.option_registry_test.PowerOptions";
  EXPECT_EQ(Problem(LineAndPower(), "step {}"), "step: " + known);
  EXPECT_EQ(Problem(LineAndPower(),
                    "outside { [regard.option_registry_test.other_step] {} }"),
            "outside.[regard.option_registry_test.other_step]: " + known);
}

TEST(OptionRegistryTest, AFallbackIsUsedIfNothingIsChosen) {
  CurveRegistry registry(&LineOptions::default_instance());
  registry.Add<Line>("a x");
  EXPECT_EQ(Problem(registry, ""), "");
  EXPECT_EQ(registry.Create(Parsed(""), 0)->At(3), 6);
  // A fallback must not hide an invalid choice.
  EXPECT_NE(Problem(registry, "outside {}"), "");
}

TEST(OptionRegistryDeathTest, RefusesAnUnknownOneof) {
  EXPECT_DEATH(OneofNamed("shape", *CurveConfig::descriptor()),
               "CurveConfig has no oneof shape");
}

TEST(OptionRegistryDeathTest, RefusesATypeTwiceAndAnInvalidConfig) {
  CurveRegistry registry = LineAndPower();
  EXPECT_DEATH(registry.Add<Line>("b x"), "LineOptions is registered twice");
  EXPECT_DEATH(registry.Create(Parsed("step {}"), 0),
               "an unvalidated .*curve_shape");
}

// A plug-in whose Validate() has a wrong signature must not compile, because it
// hides the Validate() of the interface.
class OtherOptions : public Line {
 public:
  static void Validate(const PowerOptions&, double, ConfigProblems&) {}
};
class MissingContext : public Line {
 public:
  static void Validate(const LineOptions&, ConfigProblems&) {}
};
class NotStatic : public Line {
 public:
  void Validate(const LineOptions&, double, ConfigProblems&) const {}
};
class ProblemsByPointer : public Line {
 public:
  static void Validate(const LineOptions&, double, ConfigProblems*) {}
};
class Private : public Line {
  static void Validate(const LineOptions&, double, ConfigProblems&) {}
};
class MutableOptions : public Line {
 public:
  static void Validate(LineOptions&, double, ConfigProblems&) {}
};
static_assert(ValidatesOptions<Line, double>);
static_assert(ValidatesOptions<Power, double>);
static_assert(!ValidatesOptions<OtherOptions, double>);
static_assert(!ValidatesOptions<MissingContext, double>);
static_assert(!ValidatesOptions<NotStatic, double>);
static_assert(!ValidatesOptions<ProblemsByPointer, double>);
static_assert(!ValidatesOptions<Private, double>);
static_assert(!ValidatesOptions<MutableOptions, double>);

}  // namespace
}  // namespace regard::option_registry_test
