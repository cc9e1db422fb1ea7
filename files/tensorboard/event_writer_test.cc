#include "files/tensorboard/event_writer.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "files/file.h"
#include "files/tensorboard/event.pb.h"
#include "files/tensorboard/summary.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard::tensorboard {
namespace {

using ::regard::testing::IsOk;
using ::testing::SizeIs;
using ::testing::StartsWith;

class EventWriterTest : public ::testing::Test {
 protected:
  EventWriterTest() { EXPECT_THAT(RemoveTree(folder_, files_), IsOk()); }

  EventWriterOptions Options() {
    return {.folder = folder_, .clock = [] {
              return absl::UnixEpoch() + absl::Milliseconds(1'600'000'000'250);
            }};
  }

  std::vector<std::string> Names() { return ListDirectory(folder_).value(); }

  // Returns the events of a file, whose frames must be complete.
  std::vector<Event> Events(const std::string& name) {
    const std::string bytes =
        ReadFile(JoinPath(folder_, name), 1 << 20).value();
    std::vector<Event> events;
    absl::string_view rest = bytes;
    while (!rest.empty()) {
      uint64_t length;
      std::memcpy(&length, rest.data(), sizeof(length));
      const absl::string_view payload = rest.substr(12, length);
      EXPECT_EQ(rest.substr(0, length + 16), FramedRecord(payload));
      events.emplace_back();
      EXPECT_TRUE(events.back().ParseFromArray(payload.data(),
                                               static_cast<int>(length)));
      rest.remove_prefix(length + 16);
    }
    return events;
  }

  FileOperations files_;
  const std::string folder_ = JoinPath(::testing::TempDir(), "events");
};

TEST_F(EventWriterTest, AFileBeginsWithItsVersionAndWriter) {
  auto writer = EventWriter::Create(Options(), files_);
  ASSERT_THAT(writer, IsOk());
  ASSERT_THAT(Names(), SizeIs(1));
  EXPECT_THAT(Names()[0], StartsWith("events.out.tfevents.1600000000."));
  const std::vector<Event> events = Events(Names()[0]);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_EQ(events[0].source_metadata().writer(), "regard");
  EXPECT_NEAR(events[0].wall_time(), 1600000000.25, 1e-6);
  EXPECT_EQ(events[1].session_log().status(), SessionLog::START);
  EXPECT_EQ(events[1].step(), 0);
}

TEST_F(EventWriterTest, ATagIsDescribedOnceInEachFile) {
  auto writer = EventWriter::Create(Options(), files_);
  ASSERT_THAT(writer, IsOk());
  ASSERT_THAT(writer->Add(1, ScalarValue("train/loss", 0.5f)), IsOk());
  ASSERT_THAT(writer->Add(2, ScalarValue("train/loss", 0.25f)), IsOk());
  ASSERT_THAT(writer->Close(), IsOk());
  const std::vector<Event> events = Events(Names()[0]);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_TRUE(events[2].summary().value(0).has_metadata());
  EXPECT_EQ(events[3].step(), 2);
  EXPECT_FALSE(events[3].summary().value(0).has_metadata());
}

TEST_F(EventWriterTest, AResumedRunOpensALaterFileAndSaysWhereItStarts) {
  EventWriterOptions options = Options();
  {
    auto writer = EventWriter::Create(options, files_);
    ASSERT_THAT(writer->Add(9, ScalarValue("train/loss", 1.0f)), IsOk());
  }
  options.resumed_step = 5;
  auto writer = EventWriter::Create(options, files_);
  ASSERT_THAT(writer->Add(6, ScalarValue("train/loss", 1.0f)), IsOk());
  ASSERT_THAT(writer->Flush(), IsOk());
  ASSERT_THAT(Names(), SizeIs(2));
  EXPECT_EQ(Events(Names()[0]).size(), 3u) << "flushed when it went";
  EXPECT_THAT(Names()[1], StartsWith("events.out.tfevents.1600000001."));
  const std::vector<Event> events = Events(Names()[1]);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].session_log().status(), SessionLog::START);
  EXPECT_EQ(events[1].step(), 6);
  EXPECT_TRUE(events[2].summary().value(0).has_metadata());
}

TEST_F(EventWriterTest, AFullDiskIsAnErrorThatStays) {
  class FullDisk : public FileOperations {
   public:
    ssize_t WriteAt(int descriptor, const char* bytes, size_t count,
                    int64_t offset) override {
      if (full) {
        errno = ENOSPC;
        return -1;
      }
      return FileOperations::WriteAt(descriptor, bytes, count, offset);
    }
    bool full = false;
  };
  FullDisk disk;
  auto writer = EventWriter::Create(Options(), disk);
  ASSERT_THAT(writer->Add(1, ScalarValue("a", 1.0f)), IsOk());
  disk.full = true;
  EXPECT_FALSE(writer->Flush().ok());
  disk.full = false;
  EXPECT_FALSE(writer->Add(2, ScalarValue("a", 1.0f)).ok());
  EXPECT_EQ(Events(Names()[0]).size(), 2u);
}

TEST(RecordTest, PublishedChecksums) {
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(MaskedCrc32c("\x1a\x11"
                         "CRC test, one two"),
            0x5794d08au);
}

TEST(RecordTest, AFramedRecordIsAsTensorBoardWritesIt) {
  const std::string payload(
      "\x09\x00\x00\x80\x38\x99\xd6\xd7\x41\x1a\x0d"
      "brain.Event:2",
      24);
  EXPECT_EQ(FramedRecord(payload),
            std::string("\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22", 12) + payload +
                "\x12\x4b\x36\xab");
}

}  // namespace
}  // namespace regard::tensorboard
