// Computes SHA-256 (FIPS 180-4) incrementally, with libcrypto.
#ifndef FILES_SHA256_H_
#define FILES_SHA256_H_

#include <openssl/evp.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "files/file.h"

namespace regard {

// A digest in progress. Move-only.
class Sha256 {
 public:
  Sha256();

  void Update(absl::string_view bytes);

  // Returns 64 lower-case hexadecimal digits. Must be the last call.
  std::string HexDigest();

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

std::string Sha256Hex(absl::string_view bytes);

// Returns the digest of a file. Reads one mebibyte at a time.
absl::StatusOr<std::string> Sha256OfFile(const RandomAccessFile& file);

}  // namespace regard

#endif  // FILES_SHA256_H_
