// Writes one event file of a run for TensorBoard (docs/run_folder.md), framed
// as TFRecord. One writer at a time in a folder: hold the run folder's lock.
#ifndef FILES_TENSORBOARD_EVENT_WRITER_H_
#define FILES_TENSORBOARD_EVENT_WRITER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "files/file.h"
#include "files/tensorboard/event.pb.h"

namespace regard::tensorboard {

// CRC-32C (Castagnoli, RFC 3720).
uint32_t Crc32c(absl::string_view bytes);

// As the format stores a checksum: rotated by 15 bits, plus a constant.
uint32_t MaskedCrc32c(absl::string_view bytes);

// Length (64 bits little-endian) and payload, a masked checksum after each.
std::string FramedRecord(absl::string_view payload);

struct EventWriterOptions {
  // Made if need be; holds the event files of one run and nothing else.
  std::string folder = {};
  // Set when a run goes on after a checkpoint of that step: readers then drop
  // what earlier files say of later steps.
  std::optional<int64_t> resumed_step = {};
  std::function<absl::Time()> clock = absl::Now;
};

// Move-only.
class EventWriter {
 public:
  // Begins a new file, whose name sorts after those in the folder: earlier ones
  // may end in a torn record, after which readers read nothing.
  static absl::StatusOr<EventWriter> Create(const EventWriterOptions& options,
                                            FileOperations& files);

  // A moved-from writer has nothing to flush.
  EventWriter(EventWriter&&) noexcept = default;
  EventWriter& operator=(EventWriter&&) = delete;
  // Flushes what it can.
  ~EventWriter();

  // Adds one value, buffered. Once an error has been returned, all calls return
  // it: what follows a torn record could not be read.
  absl::Status Add(int64_t step, Summary::Value value);

  // Makes what was added visible to readers.
  absl::Status Flush();

  // Flushes, puts the file on the disk itself, and closes it.
  absl::Status Close();

 private:
  EventWriter(FileWriter file, std::function<absl::Time()> clock);

  void AddEvent(Event event);

  std::unique_ptr<FileWriter> file_;  // null once closed or moved from
  std::function<absl::Time()> clock_;
  std::string pending_;
  std::set<std::string> described_tags_;
  absl::Status status_;
};

}  // namespace regard::tensorboard

#endif  // FILES_TENSORBOARD_EVENT_WRITER_H_
