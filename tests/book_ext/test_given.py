"""What a problem gives is plain text."""


def test_a_given_reads_as_plain_text(book):
    built = book("A pass needs {given}`3 GB`, says the text.\n")
    assert "<p>A pass needs 3 GB, says the text.</p>" in built.html()
    assert built.warnings() == ""
