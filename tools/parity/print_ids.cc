// Tokenizes texts with the tokenizer of a folder, and prints the ids of each
// text, separated by spaces. Reads the texts from standard input, each ended by
// NUL. check_wordpiece.py and check_byte_pairs.py use this program.
//
//   print_ids wordpiece|byte_pairs FOLDER
#include <cstdint>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "data/text/byte_pairs.h"
#include "pretrained/bert_folder.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

using Encode =
    std::function<absl::StatusOr<std::vector<int32_t>>(const std::string&)>;

absl::StatusOr<Encode> OpenWordPiece(const std::string& folder) {
  constexpr int64_t kNeverCut = int64_t{1} << 40;
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  REGARD_ASSIGN_OR_RETURN(BertFolder bert, OpenBertFolder(folder, scorers));
  return [pieces = *bert.pieces](const std::string& text) {
    return pieces.Encode(text, kNeverCut);
  };
}

absl::StatusOr<Encode> OpenBytePairs(const std::string& folder) {
  REGARD_ASSIGN_OR_RETURN(BytePairs pairs, ReadBytePairs(folder));
  return
      [pairs](const std::string& text) -> absl::StatusOr<std::vector<int32_t>> {
        std::vector<int32_t> ids = pairs.Encode(text);
        std::string decoded;
        for (const int32_t id : ids) pairs.AppendBytes(id, &decoded);
        if (decoded == text) return ids;
        return absl::InternalError(
            absl::StrCat("decoded otherwise: ", absl::CHexEscape(text)));
      };
}

absl::Status Print(const std::string& kind, const std::string& folder) {
  REGARD_ASSIGN_OR_RETURN(const Encode encode, kind == "wordpiece"
                                                   ? OpenWordPiece(folder)
                                                   : OpenBytePairs(folder));
  std::string text;
  while (std::getline(std::cin, text, '\0')) {
    REGARD_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, encode(text));
    std::cout << absl::StrJoin(ids, " ") << "\n";
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace regard

int main(int argc, char** argv) {
  const std::string kind = argc == 3 ? argv[1] : "";
  if (kind != "wordpiece" && kind != "byte_pairs") {
    std::cerr << "print_ids wordpiece|byte_pairs FOLDER\n";
    return 2;
  }
  const absl::Status status = regard::Print(kind, argv[2]);
  if (status.ok()) return 0;
  std::cerr << status.message() << "\n";
  return 2;
}
