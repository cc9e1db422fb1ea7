#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "autodiff/worker_pool.h"
#include "experiments/report/terminal_text.h"
#include "experiments/run.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "options/command_line.h"
#include "third_party/abseil_backport/status_macros.h"
#include "tools/programs.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Predicts with the model of any run. The task of the run determines "
    "the\nprediction: a translation, a continuation, the class of a text or "
    "an\nimage, a word for [MASK], a value at x, or a caption.\n\n"
    "  predict --run=DIR [--example=N]... [--json] [INPUT...]\n\n"
    "The form of an INPUT depends on the task of the run:\n\n"
    "  translation           a sentence: 'they are watching .'\n"
    "  language model        the beginning of a text: 'the cat'\n"
    "  masked words          a text with [MASK]: 'the [MASK] sleeps'\n"
    "  text classification   a text, or two with a tab between: $'a man\\ta "
    "cat'\n"
    "  text embedding        a text, or two with a tab between to get their\n"
    "                        similarity\n"
    "  images, captions      the path of a PNG or JPEG file: photo.jpg\n"
    "  regression            a number for each column of x, with spaces or\n"
    "                        commas between: '1.5 -2'\n\n"
    "Without INPUT and --example, reads one input per line from standard "
    "input.\n"
    "If standard output is not a terminal, each line of it is one prediction\n"
    "and nothing else. With --json, each line is one object.\n\n"
    "Examples:\n"
    "  predict --run=runs/pairs 'they are watching .'\n"
    "  predict --run=runs/table --example=0 --example=1 --json";

struct Arguments {
  RunSelectionFlags run;
  std::vector<std::string> inputs;
  std::vector<std::string> example_numbers;
  std::vector<int64_t> examples;
  bool json = false;
  int length = 100;
  int top = 5;
  int threads = HardwareThreads();
};

absl::Status ParseArguments(int argc, char** argv, Arguments* arguments) {
  CommandLine line(kUsage);
  AddRunSelectionFlags(line, &arguments->run);
  AddPrecisionFlag(line, &arguments->run.precision);
  line.Repeated("example", "N", &arguments->example_numbers, kExampleHelp);
  line.Switch("json", &arguments->json, kJsonHelp);
  line.Number("length", &arguments->length, 0, INT_MAX, kLengthHelp);
  line.Number(
      "top", &arguments->top, 1, INT_MAX,
      "maximum number of classes or words to list, the most likely first");
  line.Number("threads", &arguments->threads, 1, 1024, kThreadsHelp,
              kThreadsDefault);
  line.Positional(&arguments->inputs, "INPUT");
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  UseLatestRun(&arguments->run);
  for (const std::string& text : arguments->example_numbers) {
    int64_t number = 0;
    if (!absl::SimpleAtoi(text, &number) || number < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "error: --example requires a whole number, 0 or more, got '", text,
          "'"));
    }
    arguments->examples.push_back(number);
  }
  return absl::OkStatus();
}

nlohmann::ordered_json JsonOf(const Prediction& prediction) {
  nlohmann::ordered_json json = {{"input", prediction.input},
                                 {"answer", prediction.text}};
  if (!prediction.reference.empty()) json["reference"] = prediction.reference;
  if (!prediction.values.empty()) json["values"] = prediction.values;
  for (const auto& of_one : prediction.choices) {
    nlohmann::ordered_json ranked = nlohmann::ordered_json::array();
    for (const auto& [name, probability] : of_one) {
      ranked.push_back({{"name", name}, {"probability", probability}});
    }
    json["choices"].push_back(std::move(ranked));
  }
  if (!prediction.notes.empty()) json["notes"] = prediction.notes;
  return json;
}

// Formats a prediction for a terminal.
std::string TextOf(const Prediction& prediction) {
  std::string text = absl::StrCat(PrintableText(prediction.text), "\n");
  for (const auto& of_one : prediction.choices) {
    std::string ranked;
    for (const auto& [name, probability] : of_one) {
      absl::StrAppendFormat(&ranked, "%s%s %.3f", ranked.empty() ? "  " : ", ",
                            PrintableText(name), probability);
    }
    absl::StrAppend(&text, ranked, "\n");
  }
  if (!prediction.reference.empty()) {
    absl::StrAppend(&text, "  (", PrintableText(prediction.input), " -> ",
                    PrintableText(prediction.reference), ")\n");
  }
  return text;
}

// Prints a prediction. Returns false if it cannot be written. `what` names the
// request in messages, such as "input 3".
absl::StatusOr<bool> Predict(const Run& run, const Arguments& arguments,
                             const std::string& what,
                             const PredictionRequest& request) {
  const absl::StatusOr<Prediction> prediction = run.Predict(
      request, {.length = arguments.length,
                .most_choices = static_cast<size_t>(arguments.top)});
  if (!prediction.ok()) {
    return absl::Status(
        prediction.status().code(),
        absl::StrCat("error: ", what, ": ", prediction.status().message()));
  }
  for (const std::string& note : prediction->notes) {
    std::fprintf(stderr, "note: %s: %s\n", what.c_str(), note.c_str());
  }
  // Replaces newlines, which a filled-in text may contain, to print one line.
  const std::string text =
      arguments.json ? absl::StrCat(JsonText(JsonOf(*prediction)), "\n")
      : isatty(STDOUT_FILENO) != 0
          ? TextOf(*prediction)
          : absl::StrReplaceAll(prediction->text, {{"\n", "\u21b5"}}) + "\n";
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
}

absl::Status AnswerInput(const Run& run, const Arguments& arguments) {
  return ReadInput(run, {.unit = "input",
                         .add =
                             [&](const InputLine& line) {
                               return Predict(
                                   run, arguments,
                                   absl::StrCat("line ", line.number),
                                   {.text = line.text});
                             },
                         .flush = [] { return std::fflush(stdout) == 0; }});
}

absl::Status Predict(int argc, char** argv, const Plugins& plugins) {
  Arguments arguments;
  REGARD_RETURN_IF_ERROR(ParseArguments(argc, argv, &arguments));
  REGARD_ASSIGN_OR_RETURN(
      const Run run,
      OpenRun(arguments.run, plugins, {.data = !arguments.examples.empty()}));
  WorkerPool pool(arguments.threads);
  const InferenceThreads help(pool);
  if (arguments.inputs.empty() && arguments.examples.empty()) {
    return AnswerInput(run, arguments);
  }
  int64_t number = 0;
  for (const std::string& input : arguments.inputs) {
    REGARD_RETURN_IF_ERROR(Predict(run, arguments,
                                   absl::StrCat("input ", ++number),
                                   {.text = input})
                               .status());
  }
  for (const int64_t example : arguments.examples) {
    REGARD_RETURN_IF_ERROR(Predict(run, arguments,
                                   absl::StrCat("example ", example),
                                   {.example = example})
                               .status());
  }
  return absl::OkStatus();
}

}  // namespace

int PredictMain(int argc, char** argv, const Plugins& plugins) {
  FlushDenormalsToZero();
  return ExitCode(Predict(argc, argv, plugins));
}

}  // namespace regard
