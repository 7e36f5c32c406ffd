class Kubescript < Formula
  desc "Ask a Kubernetes cluster by short scripts in a sandbox, with secrets masked"
  homepage "@{repository}"
  version "@{version}"
  license "Apache-2.0"

  depends_on :linux
  depends_on "python@@3.13"

  on_intel do
    url "@{downloads}/kubescript-@{version}-linux-x86_64.pex", using: :nounzip
    sha256 "@{x86_64_sha256}"
  end

  on_arm do
    url "@{downloads}/kubescript-@{version}-linux-aarch64.pex", using: :nounzip
    sha256 "@{aarch64_sha256}"
  end

  def install
    bin.install Dir["*.pex"].first => "kubescript"
    chmod 0755, bin/"kubescript"
    generate_completions_from_executable(bin/"kubescript", "completion")
  end

  def caveats
    <<~EOS
      kubescript needs the library libseccomp of your system: `libseccomp2` on Debian and Ubuntu,
      `libseccomp` on Fedora and Arch.
    EOS
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/kubescript --version")
  end
end
