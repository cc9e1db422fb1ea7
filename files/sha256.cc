#include "files/sha256.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/types/span.h"
#include "third_party/abseil_backport/check.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

Sha256::Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
  REGARD_CHECK(context_ != nullptr) << "libcrypto has no memory";
  REGARD_CHECK_EQ(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr), 1);
}

void Sha256::Update(absl::string_view bytes) {
  REGARD_CHECK_EQ(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()),
                  1);
}

std::string Sha256::HexDigest() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  REGARD_CHECK_EQ(EVP_DigestFinal_ex(context_.get(), digest, &size), 1);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest), size));
}

std::string Sha256Hex(absl::string_view bytes) {
  Sha256 sha256;
  sha256.Update(bytes);
  return sha256.HexDigest();
}

absl::StatusOr<std::string> Sha256OfFile(const RandomAccessFile& file) {
  constexpr int64_t kBlockBytes = int64_t{1} << 20;
  Sha256 sha256;
  std::string block;
  for (int64_t offset = 0; offset < file.size(); offset += kBlockBytes) {
    block.resize(std::min(kBlockBytes, file.size() - offset));
    REGARD_RETURN_IF_ERROR(file.ReadAt(offset, absl::MakeSpan(block)));
    sha256.Update(block);
  }
  return sha256.HexDigest();
}

}  // namespace regard
