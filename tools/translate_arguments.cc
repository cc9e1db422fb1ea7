#include "tools/translate_arguments.h"

#include <climits>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "experiments/config/command_line.h"
#include "nn/config_problems.h"
#include "seq2seq/decoding/search_validation.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Translates sentences with the model of a run, or of several together.\n\n"
    "  translate --run=DIR [--run=DIR]... [--beam=K] [--align] [SENTENCE...]\n"
    "  translate --run=DIR --score\n\n"
    "Without sentences, they are read from standard input, one a line. Where\n"
    "standard output is not a terminal it gets one translation a line, in the\n"
    "order of the sentences, and nothing else. With --n_best a line is\n"
    "INDEX ||| TRANSLATION ||| SCORE, sentences counted from 0, best first.\n"
    "What no flag sets is as in `search` of the first run's config. With\n"
    "--score a line is SOURCE<TAB>TARGET, and its answer the target's natural\n"
    "log-probability.";
}  // namespace

absl::Status ParseTranslateArguments(int argc, char** argv,
                                     TranslateArguments* arguments) {
  CommandLine line(kUsage);
  line.Repeated("run", "DIR", &arguments->runs,
                "a run folder; several of one vocabulary make an ensemble");
  line.Number("beam", &arguments->beam, 1, kMaxBeam,
              "hypotheses kept by the search; 1 is greedy");
  line.Number("n_best", &arguments->n_best, 1, kMaxBeam,
              "translations of each sentence");
  line.Real("length_penalty", &arguments->length_penalty, 0, 10,
            "greater values favour longer translations");
  line.Real("coverage_penalty", &arguments->coverage_penalty, 0, 10,
            "greater values penalise words left untranslated");
  line.Number("min_length", &arguments->min_length, 0, 100000,
              "words of a translation at least");
  line.Number("max_length", &arguments->max_length, 1, 100000,
              "ids of a translation at most, its end included");
  line.Switch("log_probabilities", &arguments->log_probabilities,
              "several runs average log-probabilities, not probabilities");
  line.Switch("sample", &arguments->sample,
              "draws translations from the model's distribution");
  line.Real("temperature", &arguments->temperature, 0.01, 100,
            "of sampling; below 1 likely words become likelier");
  line.Number("top_k", &arguments->top_k, 0, 10000000,
              "samples from so many words only; 0: all");
  line.Real("top_p", &arguments->top_p, 1e-6, 1,
            "samples from the likeliest words of this probability only");
  line.Number("seed", &arguments->seed, 0, INT_MAX, "of sampling");
  line.Switch("align", &arguments->align,
              "draws what each word looked at; off a terminal on standard "
              "error");
  line.Switch("score", &arguments->score,
              "scores given pairs instead of translating");
  line.Switch("replace_unknown", &arguments->replace_unknown,
              "writes the source word that gets most attention for <unk>");
  line.Number("threads", &arguments->threads, 1, 1024,
              "changes no bit of a translation; without it, one per core");
  line.Positional(&arguments->sentences, "SENTENCE");
  return line.Parse(argc, argv);
}

absl::Status ApplySearchFlags(const TranslateArguments& arguments,
                              SearchConfig* search) {
  if (arguments.beam >= 0) search->set_beam(arguments.beam);
  if (arguments.n_best >= 0) search->set_n_best(arguments.n_best);
  if (arguments.min_length >= 0) search->set_min_length(arguments.min_length);
  if (arguments.max_length >= 0) {
    search->set_max_length(arguments.max_length);
    search->set_max_length_ratio(0);
  }
  if (arguments.length_penalty >= 0) {
    search->set_length_penalty(arguments.length_penalty);
  }
  if (arguments.coverage_penalty >= 0) {
    search->set_coverage_penalty(arguments.coverage_penalty);
  }
  if (arguments.log_probabilities) {
    search->set_ensemble_mean(SearchConfig::LOG_PROBABILITIES);
  }
  if (arguments.sample) {
    search->mutable_sampling();
    if (arguments.beam < 0) search->clear_beam();
  }
  const bool of_sampling = arguments.temperature >= 0 || arguments.top_k >= 0 ||
                           arguments.top_p >= 0 || arguments.seed >= 0;
  if (of_sampling && !search->has_sampling()) {
    return absl::InvalidArgumentError(
        "error: --temperature, --top_k, --top_p and --seed need --sample");
  }
  if (search->has_sampling()) {
    SamplingConfig& sampling = *search->mutable_sampling();
    if (arguments.temperature >= 0) {
      sampling.set_temperature(arguments.temperature);
    }
    if (arguments.top_k >= 0) sampling.set_top_k(arguments.top_k);
    if (arguments.top_p >= 0) sampling.set_top_p(arguments.top_p);
    if (arguments.seed >= 0) {
      sampling.set_seed(static_cast<uint64_t>(arguments.seed));
    }
  }
  ConfigProblems problems;
  ValidateSearch(*search, problems);
  if (problems.ok()) return absl::OkStatus();
  const ConfigProblems::Problem& problem = problems.problems().front();
  return absl::InvalidArgumentError(
      absl::StrCat("error: --", problem.path, ": ", problem.message));
}

}  // namespace regard
