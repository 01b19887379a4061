"""Safe by default: who is let in, and what is taken from whom."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from penstock.errors import ConfigurationError
from penstock.server import log_files
from penstock.server.app import make_app
from penstock.server.safety import Access
from tests.unit.server.conftest import ADDRESS, SampleJobs
from tests.unit.server.samples import JOB_ID

CANCEL = f"/jobs/{JOB_ID}?mode=cancel"


def test_an_address_of_others_needs_a_token_or_mutual_tls() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Access.of("0.0.0.0", None, mutual_tls=False)
    assert str(caught.value) == (
        "an address that other machines can reach needs a token or mutual TLS\n"
        "  where: penstock cluster start --address\n"
        "  got:   '0.0.0.0'\n"
        "  to do: pass --token-file FILE, or --tls-cert, --tls-key and --tls-client-ca; or"
        " leave the address out"
    )
    for address in ("192.168.1.7", "::", "example.org"):
        with pytest.raises(ConfigurationError):
            Access.of(address, None, mutual_tls=False)
    assert Access.of("0.0.0.0", "secret", mutual_tls=False).token == "secret"
    assert Access.of("10.0.0.1", None, mutual_tls=True).hosts == {"10.0.0.1"}
    for address in ("127.0.0.1", "127.8.8.8", "::1", "localhost"):
        assert Access.of(address, None, mutual_tls=False).token is None


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8081", "localhost.evil.example", ""]
)
def test_a_name_that_is_not_the_servers_is_refused(client: TestClient, host: str) -> None:
    # A page whose own name resolves to 127.0.0.1 sends its name as Host.
    answer = client.get("/overview", headers={"host": host})
    assert (answer.status_code, answer.json()) == (
        403,
        {"errors": [f"Host {host!r} is not a name of this server; --host NAME makes it one."]},
    )


@pytest.mark.parametrize("host", ["localhost:8081", "127.0.0.1:8081", "[::1]:8081", "LOCALHOST"])
def test_names_of_loopback_are_taken(client: TestClient, host: str) -> None:
    assert client.get("/overview", headers={"host": host}).status_code == 200


def test_further_names_are_taken_if_they_were_given(jobs: SampleJobs) -> None:
    access = Access.of("0.0.0.0", None, mutual_tls=True, hosts=["Flow.Example"])
    client = TestClient(make_app(jobs, access), base_url=ADDRESS)
    assert client.get("/overview", headers={"host": "flow.example:8081"}).status_code == 200
    assert client.get("/overview", headers={"host": "0.0.0.0:8081"}).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "http://localhost:9999"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_pages_of_other_sites_give_no_orders(
    client: TestClient, jobs: SampleJobs, headers: dict[str, str]
) -> None:
    assert client.patch(CANCEL, headers=headers).status_code == 403
    assert client.delete("/cluster", headers=headers).status_code == 403
    assert client.post("/scripts/upload", json={}, headers=headers).status_code == 403
    assert jobs.asked == [] and not jobs.ended


def test_the_dashboard_gives_orders(client: TestClient, jobs: SampleJobs) -> None:
    headers = {"origin": ADDRESS, "sec-fetch-site": "same-origin"}
    assert client.patch(CANCEL, headers=headers).status_code == 202
    assert jobs.asked == [(JOB_ID, "cancel", {})]


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_what_a_page_can_send_without_asking_is_no_order(
    client: TestClient, jobs: SampleJobs, kind: str
) -> None:
    place = f"/jobs/{JOB_ID}/stop"
    for body in (b"{}", b""):
        answer = client.post(place, content=body, headers={"content-type": kind})
        assert answer.status_code == 415
        assert answer.json() == {"errors": ["Send the request's body as application/json."]}
    assert client.post(place).status_code == 415
    assert jobs.asked == []


def test_no_get_changes_anything(client: TestClient, jobs: SampleJobs) -> None:
    for place in ("/jobs/:jobid/yarn-cancel", "/jobs/:jobid/stop", "/cluster"):
        assert client.get(place.replace(":jobid", JOB_ID)).status_code in (404, 405)
    assert jobs.asked == [] and not jobs.ended


def test_with_a_token_nobody_is_served_without_it(jobs: SampleJobs) -> None:
    client = TestClient(make_app(jobs, Access(token="secret")), base_url=ADDRESS)
    answer = client.get("/overview")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "Authorization: Bearer TOKEN" in answer.json()["errors"][0]
    for wrong in ("Bearer secre", "Bearer ", "secret2", "Basic secret"):
        assert client.get("/overview", headers={"authorization": wrong}).status_code == 401
    assert client.get("/", params={}).status_code == 401
    right = {"authorization": "Bearer secret"}
    assert client.get("/overview", headers=right).status_code == 200
    assert client.patch(CANCEL, headers=right).status_code == 202


def test_a_browser_gets_the_token_as_a_cookie_of_this_site_alone(jobs: SampleJobs) -> None:
    client = TestClient(make_app(jobs, Access(token="secret")), base_url=ADDRESS)
    # Elsewhere than on the page itself an address has no token: it would be written to logs.
    assert client.get("/overview?token=secret").status_code == 401
    page = client.get("/?token=secret")
    assert page.status_code == 200
    cookie = page.headers["set-cookie"]
    assert cookie == "penstock-token=secret; HttpOnly; SameSite=Strict; Path=/"
    assert client.get("/overview").status_code == 200


def test_uploads_stay_in_their_folder(client: TestClient, jobs: SampleJobs, tmp_path: Path) -> None:
    for name in ("../../evil.py", "/etc/evil.py", "..\\evil.py", "a/../../evil.py"):
        answer = client.post("/scripts/upload", json={"name": name, "content": "1"}).json()
        assert Path(answer["filename"]).parent == jobs.folder
        assert Path(answer["filename"]).name == answer["id"]
    assert [path.name for path in tmp_path.parent.glob("*evil*")] == []
    for name in ("evil.sh", ".py", "", "..", "x.py\0.sh"):
        answer = client.post("/scripts/upload", json={"name": name, "content": "1"})
        assert answer.status_code == 400


def test_files_of_programs_stay_in_their_folder(
    client: TestClient, jobs: SampleJobs, tmp_path: Path
) -> None:
    for name in ("../../up.py", "/etc/x.zip", "..\\y.txt", "z\x00.py"):
        answer = client.post("/files/upload", files={"file": (name, b"x")})
        assert answer.status_code == 200, name
        assert Path(answer.json()["filename"]).parent == tmp_path / "files"
    answer = client.post("/files/upload", files={"file": ("..", b"x")})
    assert (answer.status_code, answer.json()["errors"]) == (
        400,
        ["A file needs a name of letters and digits."],
    )
    for wanted in ("../secret", "/etc/passwd", "x"):
        body = {"flinkConfiguration": {"python.files": f"upload:{wanted}"}}
        answer = client.post("/modules/main/run", json=body)
        assert (answer.status_code, answer.json()["errors"]) == (404, [f"File {wanted} not found"])
    assert client.delete("/files/..%2Fsecret").status_code == 405
    assert client.post("/modules/-c/run", json={}).status_code == 400
    assert jobs.submitted == []


def test_only_uploaded_scripts_are_run_or_removed(
    client: TestClient, jobs: SampleJobs, tmp_path: Path
) -> None:
    outside = tmp_path.parent / "outside.py"
    outside.write_text("1")
    link = jobs.folder / "00000000-0000-0000-0000-000000000000_link.py"
    link.symlink_to(outside)
    (jobs.folder / "plain.py").write_text("1")
    for name in (link.name, "plain.py", "..%2Foutside.py", "%2Fetc%2Fpasswd", "nothing.py"):
        assert client.post(f"/scripts/{name}/run", json={}).status_code in (404, 405)
        assert client.delete(f"/scripts/{name}").status_code in (404, 405)
    assert jobs.submitted == [] and outside.exists() and link.is_symlink()
    assert client.get("/scripts").json()["files"] == []


def test_a_body_has_a_limit(jobs: SampleJobs) -> None:
    client = TestClient(make_app(jobs, longest_body=1000), base_url=ADDRESS)
    body = {"name": "a.py", "content": "x" * 2000}
    answer = client.post("/scripts/upload", json=body)
    assert (answer.status_code, answer.json()) == (
        413,
        {"errors": ["The request has more than 1000 bytes."]},
    )

    def unannounced() -> object:
        yield b'{"name": "a.py", "content": "'
        yield b"x" * 2000

    chunked = client.post(
        "/scripts/upload", content=unannounced(), headers={"content-type": "application/json"}
    )
    assert chunked.status_code == 413
    assert list(jobs.folder.iterdir()) == []


def test_secrets_are_masked(client: TestClient) -> None:
    settings = {entry["key"]: entry["value"] for entry in client.get("/jobmanager/config").json()}
    assert settings == {"rest.port": "8081", "db.password": "******"}
    assert "hunter2" not in client.get(f"/jobs/{JOB_ID}/jobmanager/config").text


def test_logs_are_read_by_listed_name_only(
    client: TestClient, jobs: SampleJobs, tmp_path: Path
) -> None:
    log = tmp_path / "job.log"
    log.write_text("line\n")
    jobs.jobs[0].logs[0].path = str(log)
    assert client.get(f"/jobs/{JOB_ID}/logs").json()["logs"][0]["name"] == "job.log"
    assert client.get(f"/jobs/{JOB_ID}/logs/job.log").text == "line\n"
    for name in ("..%2Fjob.log", "%2Fetc%2Fpasswd", "other.log"):
        assert client.get(f"/jobs/{JOB_ID}/logs/{name}").status_code == 404


def test_logs_are_read_without_secrets_and_from_their_end(
    client: TestClient, jobs: SampleJobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "settings_of", lambda job_id: {"db.password": "hunter2"})
    monkeypatch.setattr(log_files, "_BLOCK", 40)
    log = tmp_path / "job.log"
    lines = [f"{number} of hunter2, token=abc\n" for number in range(100)]
    log.write_text("".join(lines))
    jobs.jobs[0].logs[0].path = str(log)
    place = f"/jobs/{JOB_ID}/logs/job.log"
    shown = [f"{number} of ******, token=******\n" for number in range(100)]
    assert client.get(place).text == "".join(shown)
    for cut in (0, 1, len(lines[99]), len(lines[99]) + 1, 2 * len(lines[99]) - 1, 10_000):
        whole = [i for i in range(100) if sum(map(len, lines[i:])) <= cut]
        expected = "".join(shown[whole[0] :]) if whole else ""
        assert client.get(f"{place}?tail={cut}").text == expected, cut
    assert client.get(f"{place}?tail=x").status_code == 400


def test_static_files_lead_nowhere_else(client: TestClient) -> None:
    for path in ("/../app.py", "/%2e%2e/app.py", "/..%2fapp.py", "/js/../../app.py"):
        assert client.get(path).status_code == 404


def test_pages_of_others_cannot_frame_it_and_no_kind_is_guessed(client: TestClient) -> None:
    headers = client.get("/overview").headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "access-control-allow-origin" not in headers
