#include "files/tensorboard/event_writer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard::tensorboard {
namespace {

constexpr char kPrefix[] = "events.out.tfevents.";
constexpr size_t kFlushBytes = size_t{1} << 16;

// Returns the host name, with each character other than letters, digits and '-'
// replaced by '_'.
std::string HostName() {
  std::array<char, 256> name = {};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') {
    return "localhost";
  }
  std::string host(name.data());
  for (char& c : host) {
    if (!absl::ascii_isalnum(c) && c != '-') c = '_';
  }
  return host;
}

// Returns `now`, or the first later second for which a new file sorts after all
// files in `names`. Readers sort files by name, and names contain the second.
// Two runs within a second, or a clock that is set back, must not change the
// order.
int64_t SecondsAfter(const std::vector<std::string>& names, int64_t now) {
  for (absl::string_view name : names) {
    int64_t seconds;
    if (absl::ConsumePrefix(&name, kPrefix) &&
        absl::SimpleAtoi(name.substr(0, 10), &seconds)) {
      now = std::max(now, seconds + 1);
    }
  }
  return now;
}

std::string LittleEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    text.push_back(static_cast<char>(value >> (8 * i)));
  }
  return text;
}

}  // namespace

uint32_t Crc32c(absl::string_view bytes) {
  constexpr uint32_t kReflectedPolynomial = 0x82f63b78;
  uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    // Computes bit by bit, without a table, because records are only a few
    // kilobytes long.
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kReflectedPolynomial : 0);
    }
  }
  return ~crc;
}

uint32_t MaskedCrc32c(absl::string_view bytes) {
  const uint32_t crc = Crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8;
}

std::string FramedRecord(absl::string_view payload) {
  const std::string length = LittleEndian(payload.size(), 8);
  return absl::StrCat(length, LittleEndian(MaskedCrc32c(length), 4), payload,
                      LittleEndian(MaskedCrc32c(payload), 4));
}

EventWriter::EventWriter(FileWriter file, std::function<absl::Time()> clock)
    : file_(std::make_unique<FileWriter>(std::move(file))),
      clock_(std::move(clock)) {}

EventWriter::~EventWriter() {
  if (file_ != nullptr) Flush().IgnoreError();
}

absl::StatusOr<EventWriter> EventWriter::Create(
    const EventWriterOptions& options, FileOperations& files) {
  REGARD_RETURN_IF_ERROR(MakeDirectories(options.folder, files));
  REGARD_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          ListDirectory(options.folder));
  const int64_t seconds =
      SecondsAfter(names, absl::ToUnixSeconds(options.clock()));
  REGARD_ASSIGN_OR_RETURN(
      FileWriter file,
      FileWriter::Create(
          JoinPath(options.folder,
                   absl::StrFormat("%s%010d.%s.%d.0", kPrefix, seconds,
                                   HostName(), getpid())),
          files));
  EventWriter writer(std::move(file), options.clock);
  Event version;
  version.set_file_version("brain.Event:2");
  version.mutable_source_metadata()->set_writer("regard");
  writer.AddEvent(std::move(version));
  // After a second START, readers discard earlier events with the same or a
  // later step. The first file therefore also needs a START. In a resumed run,
  // the step is one after the step of the checkpoint, because the events of
  // that step are not written again.
  Event start;
  start.set_step(options.resumed_step.has_value() ? *options.resumed_step + 1
                                                  : 0);
  start.mutable_session_log()->set_status(SessionLog::START);
  writer.AddEvent(std::move(start));
  REGARD_RETURN_IF_ERROR(writer.Flush());
  return writer;
}

void EventWriter::AddEvent(Event event) {
  event.set_wall_time(absl::ToDoubleSeconds(clock_() - absl::UnixEpoch()));
  pending_ += FramedRecord(event.SerializeAsString());
}

absl::Status EventWriter::Add(int64_t step, Summary::Value value) {
  if (!described_tags_.insert(value.tag()).second) value.clear_metadata();
  Event event;
  event.set_step(step);
  *event.mutable_summary()->add_value() = std::move(value);
  AddEvent(std::move(event));
  return pending_.size() < kFlushBytes ? status_ : Flush();
}

absl::Status EventWriter::Flush() {
  if (status_.ok()) status_ = file_->Append(pending_);
  pending_.clear();
  return status_;
}

absl::Status EventWriter::Close() {
  REGARD_RETURN_IF_ERROR(Flush());
  status_ = file_->Finish();
  file_.reset();
  return status_;
}

}  // namespace regard::tensorboard
