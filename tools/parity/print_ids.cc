// Prints the ids of each line of standard input, separated by spaces, by the
// tokeniser of a folder. For check_wordpiece.py.
#include <cstdio>
#include <iostream>
#include <string>

#include "absl/strings/str_join.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "pretrained/bert_folder.h"

int main(int argc, char** argv) {
  regard::AttentionRegistry scorers;
  regard::RegisterBuiltInScores(scorers);
  const auto model = regard::ReadBertFolder(argc > 1 ? argv[1] : "", scorers);
  if (!model.ok()) {
    std::cerr << model.status().message() << "\n";
    return 2;
  }
  constexpr int64_t kNeverCut = int64_t{1} << 40;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::cout << absl::StrJoin(model->pieces->Encode(line, kNeverCut), " ")
              << "\n";
  }
  return 0;
}
