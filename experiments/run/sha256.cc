#include "experiments/run/sha256.h"

#include <openssl/evp.h>

#include "absl/strings/escaping.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

void Sha256::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
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

}  // namespace regard
