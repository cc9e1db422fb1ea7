#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "data/text/prepared_text.h"
#include "files/line_reader.h"
#include "tools/programs.h"

namespace regard {

void PrintNote(const std::string& note) {
  std::fprintf(stderr, "note: %s\n", note.c_str());
}

absl::Status ReadInput(const Run& run, const InputProgram& program) {
  if (!program.unit.empty() && isatty(STDIN_FILENO) != 0) {
    std::fprintf(stderr, "enter one %s per line; Ctrl-D ends the input\n",
                 program.unit.c_str());
  }
  LineReader reader(STDIN_FILENO, kMaxInputLineBytes,
                    LineEndsOf(run.config().data().text_version()));
  InputLine line;
  absl::Status status;
  bool written = true;
  while (written && reader.Next(&line.text, &line.cut)) {
    ++line.number;
    const absl::StatusOr<bool> added =
        line.cut && !program.takes_cut_lines
            ? absl::InvalidArgumentError(absl::StrCat(
                  "error: line ", line.number, ": must not be longer than ",
                  kMaxInputLineBytes >> 10, " KiB"))
            : program.add(line);
    status = added.status();
    if (!status.ok()) break;
    written = *added && (reader.HasPendingLine() || program.flush());
  }
  written = written && program.flush();
  const TextCleanupCounts counts = {.carriage_returns =
                                        reader.carriage_returns()};
  const std::string note = counts.Note("standard input");
  if (!note.empty()) program.tell(note);
  if (!written) return absl::OkStatus();  // ExitCode() reports the error
  status.Update(reader.status("standard input"));
  return status;
}

}  // namespace regard
