#include "autodiff/testing/gradient_check.h"

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace regard {

namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << "cannot read " << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The names of the function templates that a header declares whose result is a
// Var<T>, or a structure named for the outputs of an operation.
std::vector<std::string> Operations(const std::string& header) {
  const std::regex declaration(
      "\ntemplate <typename T[^\n]*>\n"
      "(?:inline )?(?:Var|\\w+Outputs|\\w+And\\w+)<T>\\s(\\w+|operator.)\\(");
  std::vector<std::string> names;
  for (std::sregex_iterator it(header.begin(), header.end(), declaration), end;
       it != end; ++it) {
    names.push_back((*it)[1]);
  }
  return names;
}

bool RecordsGradients(const std::string& source) {
  return std::regex_search(source, std::regex("[.>]Record(Outputs)?\\("));
}

}  // namespace

void CheckGradients(const std::vector<GradientCase>& cases) {
  for (const std::string& text : GradientFailures(cases)) ADD_FAILURE() << text;
}

void CheckAgainstReference(const ReferenceCase& test) {
  for (const std::string& text : ReferenceFailures(test)) ADD_FAILURE() << text;
}

void ExpectCaseForEachOperation(const std::string& header,
                                const std::vector<GradientCase>& cases,
                                const std::set<std::string>& exempt) {
  std::set<std::string> covered = exempt;
  for (const GradientCase& test : cases) covered.insert(test.operation);
  const std::vector<std::string> operations = Operations(ReadFile(header));
  for (const std::string& operation : operations) {
    EXPECT_TRUE(covered.count(operation) > 0)
        << header << " declares " << operation
        << ", for which no gradient is checked";
  }
  EXPECT_FALSE(operations.empty()) << header << " declares no operation";
}

void ExpectTestForEachHeader(const std::string& folder,
                             const std::set<std::string>& exempt) {
  std::set<std::string> headers;
  std::string tests;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (path.ends_with("_test.cc")) {
      tests += ReadFile(path);
    } else if (path.ends_with(".h")) {
      const std::string text = ReadFile(path);
      if (!Operations(text).empty()) headers.insert(path);
    } else if (path.ends_with(".cc") && RecordsGradients(ReadFile(path))) {
      // A source without a header of its own implements a part of another one.
      const std::string own =
          absl::StrCat(path.substr(0, path.size() - 2), "h");
      if (std::filesystem::exists(own)) headers.insert(own);
    }
  }
  EXPECT_FALSE(headers.empty()) << "no operations in " << folder;
  for (const std::string& header : headers) {
    const std::string call =
        absl::StrCat("ExpectCaseForEachOperation(\"", header, "\"");
    // Calls that are too long for a line are wrapped.
    const std::string spaceless = std::regex_replace(
        tests, std::regex("ExpectCaseForEachOperation\\(\\s+"),
        "ExpectCaseForEachOperation(");
    EXPECT_TRUE(exempt.count(header) > 0 ||
                spaceless.find(call) != std::string::npos)
        << header << " declares operations, but no test calls " << call;
  }
}

}  // namespace regard
